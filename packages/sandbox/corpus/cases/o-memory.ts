import type { ErrorCode } from '@bulkhead/contract'
import { attacksOf, refused } from '../model/case.ts'
import type { Attack } from '../model/case.ts'

const attack = attacksOf('O', {
  alone: true, deadlineMs: 120_000, patienceMs: 30_000, control: 'none', limits: { memoryMb: 256 },
})

const ended = (code: ErrorCode): Attack['script'] => [['call', refused(code)], ['ended', refused(code)]]
const NO_HEAP = ended('CompartmentOutOfHeap')
/** These catch allocation errors and go on, so that the memory limit must end them. */
const NO_MEMORY = ended('CompartmentOutOfMemory')
/** V8 aborts the whole process for these, or does not count them. In a thread, that process is the host. */
const PROCESS_ONLY = { placements: ['process'] as const }
/** These allocate so much at once that they would exceed a lower memory limit before the heap limit. */
const AT_ONCE = { ...PROCESS_ONLY, limits: { memoryMb: 1_000 } }

export const memory = [
  attack(208, 'allocates objects without end', 'const all = []; for (;;) all.push({ a: [1, 2, 3] })', NO_HEAP),
  attack(209, 'fills an array', 'const all = []; for (;;) all.push(new Array(3e7).fill(1.5))', NO_HEAP, AT_ONCE),
  attack(210, 'grows an array', 'const all = []; for (;;) all.push(1.1)', NO_HEAP,
    // Sometimes V8 throws, and sometimes it aborts the host.
    { ...AT_ONCE, lucky: true }),
  attack(
    211, 'fills a map', 'const all = new Map(); for (let at = 0; ; at++) all.set(at, at)', NO_HEAP, PROCESS_ONLY,
  ),
  attack(
    212, 'creates an object with very many keys',
    "const all = {}; for (let at = 0; ; at++) all['key' + at] = at", NO_HEAP,
    PROCESS_ONLY,
  ),
  attack(
    213, 'creates symbols that are never collected',
    "for (let at = 0; ; at++) Symbol.for('key' + at)", NO_HEAP, PROCESS_ONLY,
  ),
  attack(214, 'spreads a large string', "const all = []; for (;;) all.push([...'x'.repeat(3e7)])", NO_HEAP, AT_ONCE),
  attack(215, 'allocates buffers outside the heap', `
    const all = []
    for (;;) try { all.push(Buffer.alloc(16 * 1024 * 1024, 1)) } catch {}
  `, NO_MEMORY, PROCESS_ONLY),
  attack(216, 'allocates shared memory', `
    const all = []
    const more = () => new WebAssembly.Memory({ initial: 256, maximum: 256, shared: true }).buffer
    for (;;) try { all.push(new Uint8Array(more()).fill(1)) } catch {}
  `, NO_MEMORY, PROCESS_ONLY),
  attack(217, 'allocates WebAssembly memory', `
    const all = []
    for (;;) try { all.push(new Uint8Array(new WebAssembly.Memory({ initial: 256 }).buffer).fill(1)) } catch {}
  `, NO_MEMORY, PROCESS_ONLY),
  attack(218, 'allocates blobs', `
    return { blob: await attempt(() => {
      const all = []
      for (;;) all.push(new (use(globalThis, 'Blob'))([new Uint8Array(1e7).fill(1)]))
    }) }
  `, { blob: 'absent' }),
  attack(292, 'grows a resizable buffer', `
    const step = 2 ** 24
    const buffer = new ArrayBuffer(0, { maxByteLength: 2 ** 32 })
    for (let size = step; ; size += step) try {
      buffer.resize(size)
      new Uint8Array(buffer, size - step, step).fill(1)
    } catch {}
  `, NO_MEMORY, PROCESS_ONLY),
  attack(293, 'generates code', `
    const all = []
    for (let at = 0; ; at++) all.push(Function('return ' + JSON.stringify('x'.repeat(1e5) + at) + '.length'))
  `, NO_HEAP),
  attack(331, 'grows shared WebAssembly memory', `
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 65_536, shared: true })
    for (;;) try {
      const start = memory.grow(256) * 65_536
      new Uint8Array(memory.buffer, start).fill(1)
    } catch {}
  `, NO_MEMORY, PROCESS_ONLY),
]
