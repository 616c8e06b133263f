/* SPDX-License-Identifier: Apache-2.0 */
/* Holds nvtx_abi.h against NVTX's own headers. Nothing of it is in the library. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include "lib/probe/nvtx_abi.h"

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SAME_PLACE(ours, member, theirs, name) \
	_Static_assert(offsetof(ours, member) == offsetof(theirs, name), #ours "." #member)
#define SAME(ours, theirs) _Static_assert((int64_t)(ours) == (int64_t)(theirs), #ours)

SAME_SIZE(struct nvtx_event, nvtxEventAttributes_t);
SAME_PLACE(struct nvtx_event, category, nvtxEventAttributes_t, category);
SAME_PLACE(struct nvtx_event, payload_type, nvtxEventAttributes_t, payloadType);
SAME_PLACE(struct nvtx_event, payload_count, nvtxEventAttributes_t, reserved0);
SAME_PLACE(struct nvtx_event, payload, nvtxEventAttributes_t, payload);
SAME_PLACE(struct nvtx_event, message_type, nvtxEventAttributes_t, messageType);
SAME_PLACE(struct nvtx_event, message, nvtxEventAttributes_t, message);
SAME_SIZE(struct nvtx_callbacks, NvtxExportTableCallbacks);
SAME_PLACE(struct nvtx_callbacks, module_table, NvtxExportTableCallbacks, GetModuleFunctionTable);
SAME_SIZE(struct nvtx_payload, nvtxPayloadData_t);
SAME_PLACE(struct nvtx_payload, data, nvtxPayloadData_t, payload);
SAME_SIZE(struct nvtx_schema_entry, nvtxPayloadSchemaEntry_t);
SAME_PLACE(struct nvtx_schema_entry, name, nvtxPayloadSchemaEntry_t, name);
SAME_PLACE(struct nvtx_schema_entry, offset, nvtxPayloadSchemaEntry_t, offset);
SAME_SIZE(struct nvtx_schema, nvtxPayloadSchemaAttr_t);
SAME_PLACE(struct nvtx_schema, entries, nvtxPayloadSchemaAttr_t, entries);
SAME_PLACE(struct nvtx_schema, id, nvtxPayloadSchemaAttr_t, schemaId);
SAME_SIZE(struct nvtx_segment, nvtxExtModuleSegment_t);
SAME_PLACE(struct nvtx_segment, slots, nvtxExtModuleSegment_t, functionSlots);
SAME_SIZE(struct nvtx_module, nvtxExtModuleInfo_t);
SAME_PLACE(struct nvtx_module, id, nvtxExtModuleInfo_t, moduleId);
SAME_PLACE(struct nvtx_module, segments, nvtxExtModuleInfo_t, segments);

SAME(NVTX_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_CORE2, NVTX_CB_MODULE_CORE2);
SAME(NVTX_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(NVTX_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(NVTX_END, NVTX_CBID_CORE_RangeEnd);
SAME(NVTX_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(NVTX_POP, NVTX_CBID_CORE_RangePop);
SAME(NVTX_THREAD_W, NVTX_CBID_CORE_NameOsThreadW);
SAME(NVTX_DOMAIN_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(NVTX_DOMAIN_CATEGORY_A, NVTX_CBID_CORE2_DomainNameCategoryA);
SAME(NVTX_REGISTER_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(NVTX_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
SAME(NVTX_TEXT, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_WIDE_TEXT, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_HANDLE, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(NVTX_UINT64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
SAME(NVTX_FLOAT, NVTX_PAYLOAD_TYPE_FLOAT);
SAME(NVTX_PAYLOADS, NVTX_PAYLOAD_TYPE_EXT);
SAME(NVTX_PAYLOAD_MODULE, NVTX_EXT_PAYLOAD_MODULEID);
SAME(NVTX_SCHEMA_REGISTER, NVTX3EXT_CBID_nvtxPayloadSchemaRegister);
SAME(NVTX_END_PAYLOAD, NVTX3EXT_CBID_nvtxRangeEndPayload);
SAME(NVTX_IS_ENABLED, NVTX3EXT_CBID_nvtxDomainIsEnabled);
SAME(NVTX_SCHEMA_ID, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
