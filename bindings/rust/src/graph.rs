// SPDX-License-Identifier: Apache-2.0
//! The execution graph: of a session, or built by hand, with its critical path.
use crate::report::text_from;
use crate::{c_path, c_text, checked, done, ffi, or_null, text_of, Error};
use std::ffi::CString;
use std::os::raw::{c_char, c_int, c_void};
use std::path::Path;

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    Layer,
    Brick,
    /// One launch on a device.
    Kernel {
        /// Of [`Graph::add_code`]; 0: not known.
        code: u64,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u64,
        /// FLOP per byte, and 10^12 FLOP/s that were reached; None: not known.
        intensity: Option<f64>,
        tflops: Option<f64>,
    },
    /// A copy between host and device.
    Transfer {
        source: String,
        target: String,
        direction: Direction,
    },
    Function {
        file: Option<String>,
        line: u32,
    },
    /// An asynchronous task that is polled until it is done.
    Task {
        polls: u64,
        yields: u64,
        poll_ns: u64,
    },
}

/// Where a transfer goes; H: host, D: device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Unknown = 0,
    HostToDevice = 1,
    DeviceToHost = 2,
    DeviceToDevice = 3,
}

/// A node, as it is added and as it is read. None: not known.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub kind: NodeKind,
    pub name: String,
    /// Tells it from others of its name.
    pub label: Option<String>,
    pub layer: Option<i32>,
    /// Thread or queue: the nodes of one lane run one after the other.
    pub lane: u32,
    pub begin_ns: Option<u64>,
    pub time_ns: Option<u64>,
    /// Of its time: waiting for what precedes it.
    pub wait_ns: u64,
    pub elements: Option<u64>,
    pub bytes: Option<u64>,
}

impl Node {
    /// A node of which only kind and name are known.
    pub fn new(kind: NodeKind, name: &str) -> Node {
        Node {
            kind,
            name: name.to_owned(),
            label: None,
            layer: None,
            lane: 0,
            begin_ns: None,
            time_ns: None,
            wait_ns: 0,
            elements: None,
            bytes: None,
        }
    }

    pub fn layer(layer: i32) -> Node {
        Node { layer: Some(layer), ..Node::new(NodeKind::Layer, "") }
    }

    pub fn brick(name: &str, time_ns: u64, elements: u64) -> Node {
        let node = Node::new(NodeKind::Brick, name);
        Node { time_ns: Some(time_ns), elements: Some(elements), ..node }
    }

    /// A launch; `code` of [`Graph::add_code`], or 0.
    pub fn kernel(
        name: &str,
        code: u64,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u64,
    ) -> Node {
        let (intensity, tflops) = (None, None);
        let kind = NodeKind::Kernel { code, grid, block, shared_bytes, intensity, tflops };
        Node::new(kind, name)
    }

    pub fn transfer(source: &str, target: &str, direction: Direction, bytes: u64) -> Node {
        let kind =
            NodeKind::Transfer { source: source.to_owned(), target: target.to_owned(), direction };
        Node { bytes: Some(bytes), ..Node::new(kind, &format!("{source} -> {target}")) }
    }

    /// 1 / polls of a task: 1 where it was done when it was first asked. None: it is no task.
    pub fn task_efficiency(&self) -> Option<f64> {
        match self.kind {
            NodeKind::Task { polls, .. } if polls > 0 => Some(1.0 / polls as f64),
            _ => None,
        }
    }
}

const KINDS: [&str; 6] = ["layer", "brick", "kernel", "transfer", "function", "task"];
const HAS_TIME: u32 = 1;
const HAS_BEGIN: u32 = 2;
const HAS_ELEMENTS: u32 = 4;
const HAS_BYTES: u32 = 8;
const HAS_INTENSITY: u32 = 16;
const HAS_TFLOPS: u32 = 32;
const HAS_LAYER: u32 = 64;

/// The texts that a C node points to.
struct Texts {
    name: Option<CString>,
    label: Option<CString>,
    first: Option<CString>,
    second: Option<CString>,
}

fn to_c(node: &Node) -> Result<(ffi::GraphNode, Texts), Error> {
    let (first, second) = match &node.kind {
        NodeKind::Transfer { source, target, .. } => (Some(c_text(source)?), Some(c_text(target)?)),
        NodeKind::Function { file, .. } => (file.as_deref().map(c_text).transpose()?, None),
        _ => (None, None),
    };
    let texts = Texts {
        name: (!node.name.is_empty()).then(|| c_text(&node.name)).transpose()?,
        label: node.label.as_deref().map(c_text).transpose()?,
        first,
        second,
    };
    let mut out = ffi::GraphNode {
        name: or_null(&texts.name),
        label: or_null(&texts.label),
        begin_ns: node.begin_ns.unwrap_or(0),
        time_ns: node.time_ns.unwrap_or(0),
        wait_ns: node.wait_ns,
        elements: node.elements.unwrap_or(0),
        bytes: node.bytes.unwrap_or(0),
        lane: node.lane,
        layer: node.layer.unwrap_or(0),
        ..ffi::GraphNode::sized()
    };
    let known = [
        (node.time_ns.is_some(), HAS_TIME),
        (node.begin_ns.is_some(), HAS_BEGIN),
        (node.elements.is_some(), HAS_ELEMENTS),
        (node.bytes.is_some(), HAS_BYTES),
        (node.layer.is_some(), HAS_LAYER),
    ];
    out.flags = known.iter().filter(|(is_known, _)| *is_known).map(|(_, flag)| flag).sum();
    match &node.kind {
        NodeKind::Layer => out.kind = 0,
        NodeKind::Brick => out.kind = 1,
        NodeKind::Kernel { code, grid, block, shared_bytes, intensity, tflops } => {
            out.kind = 2;
            out.flags |= intensity.map_or(0, |_| HAS_INTENSITY) | tflops.map_or(0, |_| HAS_TFLOPS);
            out.detail.kernel = ffi::GraphKernel {
                code: *code,
                grid: *grid,
                block: *block,
                shared_bytes: *shared_bytes,
                intensity: intensity.unwrap_or(0.0),
                tflops: tflops.unwrap_or(0.0),
            };
        }
        NodeKind::Transfer { direction, .. } => {
            out.kind = 3;
            let (source, target) = (or_null(&texts.first), or_null(&texts.second));
            out.detail.transfer =
                ffi::GraphTransfer { source, target, direction: *direction as u32 };
        }
        NodeKind::Function { line, .. } => {
            out.kind = 4;
            out.detail.function = ffi::GraphFunction { file: or_null(&texts.first), line: *line };
        }
        NodeKind::Task { polls, yields, poll_ns } => {
            out.kind = 5;
            let (polls, yields, poll_ns) = (*polls, *yields, *poll_ns);
            out.detail.task = ffi::GraphTask { polls, yields, poll_ns };
        }
    }
    Ok((out, texts))
}

fn text_or_none(text: *const c_char) -> Option<String> {
    (!text.is_null()).then(|| text_of(text))
}

/// `node` is one that the library filled in: the member of its union is that of its kind.
unsafe fn from_c(node: &ffi::GraphNode) -> Node {
    let has = |flag| node.flags & flag != 0;
    let kind = match node.kind {
        0 => NodeKind::Layer,
        1 => NodeKind::Brick,
        2 => {
            let kernel = node.detail.kernel;
            NodeKind::Kernel {
                code: kernel.code,
                grid: kernel.grid,
                block: kernel.block,
                shared_bytes: kernel.shared_bytes,
                intensity: has(HAS_INTENSITY).then_some(kernel.intensity),
                tflops: has(HAS_TFLOPS).then_some(kernel.tflops),
            }
        }
        3 => {
            let transfer = node.detail.transfer;
            let direction = match transfer.direction {
                1 => Direction::HostToDevice,
                2 => Direction::DeviceToHost,
                3 => Direction::DeviceToDevice,
                _ => Direction::Unknown,
            };
            let (source, target) = (text_of(transfer.source), text_of(transfer.target));
            NodeKind::Transfer { source, target, direction }
        }
        4 => {
            let function = node.detail.function;
            NodeKind::Function { file: text_or_none(function.file), line: function.line }
        }
        _ => {
            let ffi::GraphTask { polls, yields, poll_ns } = node.detail.task;
            NodeKind::Task { polls, yields, poll_ns }
        }
    };
    Node {
        kind,
        name: text_of(node.name),
        label: text_or_none(node.label),
        layer: has(HAS_LAYER).then_some(node.layer),
        lane: node.lane,
        begin_ns: has(HAS_BEGIN).then_some(node.begin_ns),
        time_ns: has(HAS_TIME).then_some(node.time_ns),
        wait_ns: node.wait_ns,
        elements: has(HAS_ELEMENTS).then_some(node.elements),
        bytes: has(HAS_BYTES).then_some(node.bytes),
    }
}

/// How two nodes belong together: the first three hold, the others precede.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    Calls = 0,
    Contains = 1,
    Launches = 2,
    Sequence = 3,
    DependsOn = 4,
    Transfer = 5,
}

/// How a graph is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFormat {
    /// For Graphviz.
    Dot = 0,
    Json = 1,
    /// Compressed sparse rows, as JSON arrays.
    Csr = 2,
    /// "a;b;c ns" lines for flame graphs.
    Folded = 3,
    Tree = 4,
}

/// The longest chain of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriticalPath {
    pub length_ns: u64,
    pub nodes: Vec<u32>,
}

/// The times of a node if everything runs as early as it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeTimes {
    pub begin_ns: u64,
    pub end_ns: u64,
    pub own_ns: u64,
    /// By how much it could be longer or later without making the graph longer.
    pub slack_ns: u64,
}

/// Data that went somewhere and, as many bytes, came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingPong {
    pub there: u32,
    pub back: u32,
    pub bytes: u64,
    pub time_ns: u64,
}

/// Source of kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub name: String,
    pub source: String,
    pub path: Option<String>,
}

/// An execution graph. One thread at a time uses it.
#[derive(Debug)]
pub struct Graph(*mut c_void);

unsafe impl Send for Graph {}

impl Graph {
    /// An empty one.
    pub fn new() -> Result<Graph, Error> {
        let mut graph = std::ptr::null_mut();
        done(unsafe { ffi::brick_graph_create(&mut graph) })?;
        Ok(Graph(graph))
    }

    /// That of the session so far: at most `samples` of each thread and queue; 0: all that it
    /// keeps ([`ring_records`](crate::SessionOptions::ring_records)).
    pub fn of_session(samples: u32) -> Result<Graph, Error> {
        let mut graph = std::ptr::null_mut();
        done(unsafe { ffi::brick_graph_of_session(&mut graph, samples) })?;
        Ok(Graph(graph))
    }

    /// Forget everything.
    pub fn clear(&mut self) {
        unsafe { ffi::brick_graph_clear(self.0) }
    }

    /// Add a node. Inside of a scope it is part of it, behind the node before.
    pub fn add(&mut self, node: &Node) -> Result<u32, Error> {
        let (node, _texts) = to_c(node)?;
        checked(unsafe { ffi::brick_graph_add(self.0, &node) })
    }

    /// Add a node and open its scope.
    pub fn enter(&mut self, node: &Node) -> Result<u32, Error> {
        let (node, _texts) = to_c(node)?;
        checked(unsafe { ffi::brick_graph_enter(self.0, &node) })
    }

    /// Open the scope of a node.
    pub fn push(&mut self, node: u32) -> Result<(), Error> {
        done(unsafe { ffi::brick_graph_push(self.0, node) })
    }

    /// Close the innermost scope. Returns its node.
    pub fn pop(&mut self) -> Result<u32, Error> {
        checked(unsafe { ffi::brick_graph_pop(self.0) })
    }

    /// Whether every push was popped, and no pop found nothing to close.
    pub fn is_balanced(&self) -> bool {
        unsafe { ffi::brick_graph_is_balanced(self.0) == 1 }
    }

    pub fn connect(
        &mut self,
        from: u32,
        to: u32,
        kind: EdgeKind,
        weight: f64,
    ) -> Result<u32, Error> {
        checked(unsafe { ffi::brick_graph_connect(self.0, from, to, kind as c_int, weight) })
    }

    pub fn node_count(&self) -> usize {
        unsafe { ffi::brick_graph_node_count(self.0) }
    }

    pub fn edge_count(&self) -> usize {
        unsafe { ffi::brick_graph_edge_count(self.0) }
    }

    pub fn node(&self, id: u32) -> Result<Node, Error> {
        let mut out = ffi::GraphNode::sized();
        done(unsafe { ffi::brick_graph_node_get(self.0, id, &mut out) })?;
        Ok(unsafe { from_c(&out) })
    }

    /// The first node of that name.
    pub fn find(&self, name: &str) -> Option<u32> {
        let name = c_text(name).ok()?;
        checked(unsafe { ffi::brick_graph_find(self.0, name.as_ptr()) }).ok()
    }

    /// Nodes of a kind ("layer", "brick", "kernel", "transfer", "function", "task").
    pub fn of_kind(&self, kind: &str) -> Vec<u32> {
        let kind = KINDS.iter().position(|name| *name == kind).map_or(-1, |kind| kind as c_int);
        let mut nodes = std::ptr::null();
        let count = unsafe { ffi::brick_graph_of_kind(self.0, kind, &mut nodes) };
        copied(nodes, count.max(0) as usize)
    }

    /// The kernel with the longest known time.
    pub fn slowest_kernel(&self) -> Result<u32, Error> {
        checked(unsafe { ffi::brick_graph_slowest_kernel(self.0) })
    }

    /// Keep source of a kernel. Returns its hash.
    pub fn add_code(&mut self, name: &str, source: &str, path: Option<&str>) -> Result<u64, Error> {
        let (name, source) = (c_text(name)?, c_text(source)?);
        let path = path.map(c_text).transpose()?;
        let mut code = ffi::GraphCode {
            name: name.as_ptr(),
            source: source.as_ptr(),
            path: or_null(&path),
            ..ffi::GraphCode::sized()
        };
        done(unsafe { ffi::brick_graph_code_add(self.0, &mut code) })?;
        Ok(code.hash)
    }

    /// The source of that hash.
    pub fn code(&self, hash: u64) -> Result<Code, Error> {
        let mut out = ffi::GraphCode::sized();
        done(unsafe { ffi::brick_graph_code_get(self.0, hash, &mut out) })?;
        let (name, source) = (text_of(out.name), text_of(out.source));
        Ok(Code { name, source, path: text_or_none(out.path) })
    }

    pub fn critical_path(&self) -> Result<CriticalPath, Error> {
        let mut out = ffi::GraphPath::sized();
        done(unsafe { ffi::brick_graph_critical_path(self.0, &mut out) })?;
        Ok(CriticalPath { length_ns: out.length_ns, nodes: copied(out.nodes, out.count) })
    }

    /// The critical path as text, with the longest `rows` of its nodes; 0: all.
    pub fn path_text(&self, rows: usize) -> Result<String, Error> {
        text_from(|stream| unsafe { ffi::brick_graph_path_print(self.0, rows, stream) })
    }

    /// Kernels whose speed and intensity are known, each with its distance from the roof (FLOP/s,
    /// bytes/s).
    pub fn roofline(&self, peak: f64, bandwidth: f64) -> Result<Vec<(u32, f64)>, Error> {
        all_of(ffi::GraphDistance::sized(), |out, capacity| unsafe {
            ffi::brick_graph_roofline(self.0, peak, bandwidth, out, capacity)
        })
        .map(|all| all.iter().map(|kernel| (kernel.node, kernel.distance)).collect())
    }

    pub fn times(&self, node: u32) -> Result<NodeTimes, Error> {
        let mut out = ffi::GraphTimes::sized();
        done(unsafe { ffi::brick_graph_times_get(self.0, node, &mut out) })?;
        let ffi::GraphTimes { begin_ns, end_ns, own_ns, slack_ns, .. } = out;
        Ok(NodeTimes { begin_ns, end_ns, own_ns, slack_ns })
    }

    /// Length of the critical path, in ns, if nodes of that name took `factor` of their time.
    pub fn what_if(&self, name: &str, factor: f64) -> Result<u64, Error> {
        let name = c_text(name)?;
        let mut ns = 0;
        done(unsafe { ffi::brick_graph_what_if(self.0, name.as_ptr(), factor, &mut ns) })?;
        Ok(ns)
    }

    /// The nodes of a cycle; none where there is no cycle.
    pub fn cycle(&self) -> Result<Vec<u32>, Error> {
        let mut nodes = std::ptr::null();
        let count = checked(unsafe { ffi::brick_graph_cycle(self.0, &mut nodes) })?;
        Ok(copied(nodes, count as usize))
    }

    /// Transfers that go back and forth.
    pub fn ping_pongs(&self) -> Result<Vec<PingPong>, Error> {
        let pair = |pair: &ffi::GraphPingPong| PingPong {
            there: pair.there,
            back: pair.back,
            bytes: pair.bytes,
            time_ns: pair.time_ns,
        };
        all_of(ffi::GraphPingPong::sized(), |out, capacity| unsafe {
            ffi::brick_graph_ping_pongs(self.0, out, capacity)
        })
        .map(|all| all.iter().map(pair).collect())
    }

    /// The graph as text.
    pub fn text(&self, format: GraphFormat) -> Result<String, Error> {
        let mut out: Vec<u8> = Vec::new();
        let context: *mut Vec<u8> = &mut out;
        done(unsafe { ffi::brick_graph_write(self.0, format as c_int, append, context.cast()) })?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// The same to a file that appears when it is whole.
    pub fn save(&self, format: GraphFormat, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = c_path(path.as_ref())?;
        done(unsafe { ffi::brick_graph_save(self.0, format as c_int, path.as_ptr()) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        unsafe { ffi::brick_graph_destroy(self.0) }
    }
}

unsafe extern "C" fn append(out: *mut c_void, data: *const c_char, bytes: usize) -> c_int {
    let out = &mut *out.cast::<Vec<u8>>();
    out.extend_from_slice(std::slice::from_raw_parts(data.cast(), bytes));
    0
}

/// All that a function has to give, which fills an array and says how many there are.
fn all_of<T: Copy>(empty: T, fill: impl Fn(*mut T, usize) -> c_int) -> Result<Vec<T>, Error> {
    let mut out = Vec::new();
    loop {
        let count = checked(fill(out.as_mut_ptr(), out.len()))? as usize;
        let is_whole = count <= out.len();
        out.resize(count, empty);
        if is_whole {
            return Ok(out);
        }
    }
}

fn copied(nodes: *const u32, count: usize) -> Vec<u32> {
    if nodes.is_null() {
        return Vec::new();
    }
    unsafe { std::slice::from_raw_parts(nodes, count) }.to_vec()
}

/// 1 - achieved / min(peak, intensity x bandwidth): 0 is the roof itself. In FLOP/s, FLOP per byte
/// and bytes/s.
pub fn roofline_distance(achieved: f64, peak: f64, intensity: f64, bandwidth: f64) -> f64 {
    unsafe { ffi::brick_roofline_distance(achieved, peak, intensity, bandwidth) }
}

/// What a maker says that a processor can do at most; nothing measured it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// Of a GPU, in FLOP/s with 32 bits; else 0.
    pub flops: f64,
    /// Of a GPU's memory, in bytes/s; else 0.
    pub bandwidth: f64,
    /// Of a CPU's core with 32 bits; else 0.
    pub flops_per_cycle: f64,
}

/// The nominal peak of a GPU by its driver's name ("NVIDIA GeForce RTX 4090"), or of a core by
/// [`cpu_isa`](crate::cpu_isa). `Error(-ENOENT)`: it is not in the table.
pub fn nominal_peak(name: &str) -> Result<Peak, Error> {
    let name = c_text(name)?;
    let mut out = ffi::Peak::sized();
    done(unsafe { ffi::brick_peak_nominal(name.as_ptr(), &mut out) })?;
    let ffi::Peak { flops, bandwidth, flops_per_cycle, .. } = out;
    Ok(Peak { flops, bandwidth, flops_per_cycle })
}
