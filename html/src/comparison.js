export function comparison() {}
