import type { ErrorCode } from '@bulkhead/contract'
import { attacksOf, refused } from '../case.ts'
import type { Attack } from '../case.ts'

const attack = attacksOf('O', {
  alone: true, deadlineMs: 120_000, patienceMs: 30_000, control: 'none', limits: { heapMb: 64, memoryMb: 256 },
})

const ended = (code: ErrorCode): Attack['script'] => [['call', refused(code)], ['ended', refused(code)]]
const NO_HEAP = ended('CompartmentOutOfHeap')
/** What the system itself refuses in between can be caught, so these do: the watch sees what they have. */
const NO_MEMORY = ended('CompartmentOutOfMemory')
/** V8 ends the whole process for these, or does not count them at all: in a thread that is the host. */
const PROCESS_ONLY = { placements: ['process'] as const }
/** So much at once that with less memory the whole process would be over that first. */
const AT_ONCE = { ...PROCESS_ONLY, limits: { heapMb: 64, memoryMb: 1_000 } }

export const memory = [
  attack(208, 'objects', 'const all = []; for (;;) all.push({ a: [1, 2, 3] })', NO_HEAP),
  attack(209, 'an array that is filled', 'const all = []; for (;;) all.push(new Array(3e7).fill(1.5))', NO_HEAP, AT_ONCE),
  attack(210, 'an array that grows', 'const all = []; for (;;) all.push(1.1)', NO_HEAP,
    // V8 notices at times, and ends the host at others.
    { ...AT_ONCE, lucky: true }),
  attack(211, 'a map', 'const all = new Map(); for (let at = 0; ; at++) all.set(at, at)', NO_HEAP, PROCESS_ONLY),
  attack(212, 'an object of many keys', "const all = {}; for (let at = 0; ; at++) all['key' + at] = at", NO_HEAP, PROCESS_ONLY),
  attack(213, 'symbols that are never given back', "for (let at = 0; ; at++) Symbol.for('key' + at)", NO_HEAP, PROCESS_ONLY),
  attack(214, 'a spread', "const all = []; for (;;) all.push([...'x'.repeat(3e7)])", NO_HEAP, AT_ONCE),
  attack(215, 'buffers outside the heap', `
    const all = []
    for (;;) try { all.push(Buffer.alloc(16 * 1024 * 1024, 1)) } catch {}
  `, NO_MEMORY, PROCESS_ONLY),
  attack(216, 'memory that is shared', `
    const all = []
    const more = () => new WebAssembly.Memory({ initial: 256, maximum: 256, shared: true }).buffer
    for (;;) try { all.push(new Uint8Array(more()).fill(1)) } catch {}
  `, NO_MEMORY, PROCESS_ONLY),
  attack(217, 'memory of WebAssembly', `
    const all = []
    for (;;) try { all.push(new Uint8Array(new WebAssembly.Memory({ initial: 256 }).buffer).fill(1)) } catch {}
  `, NO_MEMORY, PROCESS_ONLY),
  attack(218, 'blobs', `
    return { blob: await attempt(() => {
      const all = []
      for (;;) all.push(new (use(globalThis, 'Blob'))([new Uint8Array(1e7).fill(1)]))
    }) }
  `, { blob: 'absent' }),
  attack(292, 'a buffer that grows in place', `
    const step = 2 ** 24
    const buffer = new ArrayBuffer(0, { maxByteLength: 2 ** 32 })
    for (let size = step; ; size += step) try {
      buffer.resize(size)
      new Uint8Array(buffer, size - step, step).fill(1)
    } catch {}
  `, NO_MEMORY, PROCESS_ONLY),
  attack(293, 'code', `
    const all = []
    for (let at = 0; ; at++) all.push(Function('return ' + JSON.stringify('x'.repeat(1e5) + at) + '.length'))
  `, NO_HEAP),
  attack(331, 'memory of WebAssembly that is shared and grows', `
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 65_536, shared: true })
    for (;;) try {
      const start = memory.grow(256) * 65_536
      new Uint8Array(memory.buffer, start).fill(1)
    } catch {}
  `, NO_MEMORY, PROCESS_ONLY),
]
