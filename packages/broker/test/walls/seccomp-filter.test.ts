import { constants } from 'node:os'
import { describe, expect, it } from 'vitest'
import { REFUSED, hullFilter, serverFilter } from '../../src/walls/filter-rules.ts'

const ALLOW = 0x7fff_0000
const EPERM = 0x0005_0000 | constants.errno.EPERM
const ENOSYS = 0x0005_0000 | constants.errno.ENOSYS
const CLONE_THREAD = 0x0001_0000

/** Audit numbers of architectures and numbers of system calls, independent of the tables under test. */
const X64 = {
  name: 'x64', audit: 0xc000_003e, clone: 56, clone3: 435,
  daily: [0, 1, 9, 10, 11, 62, 202, 228, 232, 257, 281, 318, 334],
}
const ARM64 = {
  name: 'arm64', audit: 0xc000_00b7, clone: 220, clone3: 435, daily: [22, 56, 63, 64, 98, 113, 129, 215, 222, 226, 278],
}

/** Interprets the filter as the kernel does, for one system call. */
function verdict(
  program: Uint8Array, call: { readonly audit: number; readonly number: number; flags?: number },
): number {
  const view = new DataView(program.buffer, program.byteOffset, program.byteLength)
  const words = new Map([[0, call.number], [4, call.audit], [16, call.flags ?? 0]])
  let accumulator = 0
  for (let at = 0; at < program.byteLength; at += 8) {
    const [code, value] = [view.getUint16(at, true), view.getUint32(at + 4, true)]
    const [yes, no] = [view.getUint8(at + 2), view.getUint8(at + 3)]
    if (code === 0x06) return value
    if (code === 0x20) accumulator = words.get(value)!
    else if (code === 0x15) at += 8 * (accumulator === value ? yes : no)
    else if (code === 0x35) at += 8 * (accumulator >= value ? yes : no)
    else if (code === 0x45) at += 8 * ((accumulator & value) !== 0 ? yes : no)
    else throw new Error(`no such instruction: ${code}`)
  }
  throw new Error('the program has no end')
}

describe.each([X64, ARM64])('the filter for $name', ({ name, audit, clone, clone3, daily }) => {
  const program = hullFilter(name)!
  const ask = (number: number, flags = 0): number => verdict(program, { audit, number, flags })

  it('allows the calls that Node makes all the time', () => {
    expect(daily.map((number) => ask(number))).toEqual(daily.map(() => ALLOW))
  })

  it('refuses exactly the calls of the list', () => {
    const refused = REFUSED.map(([, x64, arm64]) => name === 'x64' ? x64 : arm64).filter((number) => number !== null)
    const answers = Array.from({ length: 500 }, (_, number) => [number, ask(number)] as const)
    expect(answers.filter(([, answer]) => answer === EPERM).map(([number]) => number))
      .toEqual([...refused, clone].toSorted((a, b) => a - b))
    expect(answers.filter(([, answer]) => answer === ENOSYS)).toEqual([[clone3, ENOSYS]])
  })

  it('allows new threads, but no new processes', () => {
    expect(ask(clone, CLONE_THREAD | 0xf00)).toBe(ALLOW)
    expect(ask(clone, 17)).toBe(EPERM)
  })

  it('refuses every call of another ABI', () => {
    expect(verdict(program, { audit: 0x4000_0003, number: 3 })).toBe(EPERM)
    expect(ask(0x4000_0000)).toBe(EPERM)
    expect(ask(0xffff_ffff)).toBe(EPERM)
  })
})

describe.each([X64, ARM64])('the filter of a server for $name', ({ name, audit, clone, clone3, daily }) => {
  const ask = (number: number, flags = 0): number => verdict(serverFilter(name)!, { audit, number, flags })
  const numberOf = (call: string) => REFUSED.find(([known]) => known === call)![name === 'x64' ? 1 : 2]!

  it('allows processes and confined sockets, and refuses namespaces and other families', () => {
    expect(daily.map((number) => ask(number))).toEqual(daily.map(() => ALLOW))
    expect([ask(clone, 17), ask(clone, CLONE_THREAD), ask(numberOf('execveat'))]).toEqual([ALLOW, ALLOW, ALLOW])
    expect([0x1000_0000, 0x2_0000, 0x4000_0000].map((flags) => ask(clone, flags | 17))).toEqual([EPERM, EPERM, EPERM])
    expect(ask(clone3)).toBe(ENOSYS)
    expect([1, 2, 10, 16].map((family) => ask(numberOf('socket'), family))).toEqual([ALLOW, ALLOW, ALLOW, ALLOW])
    expect([17, 38, 40].map((family) => ask(numberOf('socket'), family))).toEqual([EPERM, EPERM, EPERM])
    for (const call of ['ptrace', 'mount', 'unshare', 'bpf', 'memfd_create', 'io_uring_setup'])
      expect(ask(numberOf(call)), call).toBe(EPERM)
  })
})

it('there is no filter for an unknown architecture', () => {
  expect(hullFilter('riscv64')).toBeUndefined()
})
