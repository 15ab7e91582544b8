import { constants, endianness } from 'node:os'
import type { SystemCall } from './system-calls.ts'
import { CLONE, CLONE3, REFUSED } from './system-calls.ts'

// Classic BPF as the kernel documents it for seccomp: instructions of eight bytes that load a word and compare it.
const LOAD = 0x20
const IF_EQUAL = 0x15
const IF_AT_LEAST = 0x35
const IF_ANY_BIT = 0x45
const RETURN = 0x06
const INSTRUCTION_BYTES = 8

/** What can be loaded: where the kernel puts the question. */
const NUMBER = 0
const ARCHITECTURE = 4
const FLAGS_OF_CLONE = 16

const ALLOW = 0x7fff_0000
const FAIL_WITH = 0x0005_0000
/** From here on the numbers are those of a second, rarely used convention of x64. */
const X32 = 0x4000_0000
const CLONE_THREAD = 0x0001_0000

/** By the name Node has for it: what the kernel calls it, and the column of its numbers. */
const ARCHITECTURES = new Map<string, { readonly audit: number; readonly numberOf: (call: SystemCall) => number | null }>([
  ['x64', { audit: 0xc000_003e, numberOf: ([, x64]) => x64 }],
  ['arm64', { audit: 0xc000_00b7, numberOf: ([, , arm64]) => arm64 }],
])

/** The last instructions of the program, and so where it can jump to. */
const VERDICTS = {
  allow: ALLOW,
  refuse: FAIL_WITH | constants.errno.EPERM,
  unknown: FAIL_WITH | constants.errno.ENOSYS,
} as const
type Verdict = keyof typeof VERDICTS

interface Instruction {
  readonly code: number
  readonly value: number
  /** Where a comparison leads; the next instruction unless it says. */
  readonly yes?: Verdict
  readonly no?: Verdict
}

/**
 * A program for the kernel that answers what a hull never asks for with an error. It never kills: libuv asks for io_uring
 * at every start, and does without. Undefined for an architecture whose numbers are not known here.
 */
export function seccompFilter(architecture: string): Uint8Array | undefined {
  const known = ARCHITECTURES.get(architecture)
  if (known === undefined || endianness() !== 'LE') return undefined
  const { audit, numberOf } = known
  const refused = REFUSED.map(numberOf).filter((value) => value !== null)
  return assemble([
    { code: LOAD, value: ARCHITECTURE },
    { code: IF_EQUAL, value: audit, no: 'refuse' },
    { code: LOAD, value: NUMBER },
    { code: IF_AT_LEAST, value: X32, yes: 'refuse' },
    ...refused.map((value): Instruction => ({ code: IF_EQUAL, value, yes: 'refuse' })),
    // Its flags are out of sight here, and the C library falls back to `clone` when told that there is no such call.
    { code: IF_EQUAL, value: numberOf(CLONE3)!, yes: 'unknown' },
    { code: IF_EQUAL, value: numberOf(CLONE)!, no: 'allow' },
    { code: LOAD, value: FLAGS_OF_CLONE },
    { code: IF_ANY_BIT, value: CLONE_THREAD, yes: 'allow', no: 'refuse' },
  ])
}

function assemble(instructions: readonly Instruction[]): Uint8Array {
  const verdicts = Object.keys(VERDICTS) as Verdict[]
  const program = new DataView(new ArrayBuffer((instructions.length + verdicts.length) * INSTRUCTION_BYTES))
  const write = (index: number, code: number, yes: number, no: number, value: number): void => {
    const at = index * INSTRUCTION_BYTES
    program.setUint16(at, code, true)
    program.setUint8(at + 2, yes)
    program.setUint8(at + 3, no)
    program.setUint32(at + 4, value, true)
  }
  instructions.forEach(({ code, value, yes, no }, index) => {
    const over = (verdict: Verdict | undefined): number =>
      verdict === undefined ? 0 : instructions.length + verdicts.indexOf(verdict) - index - 1
    write(index, code, over(yes), over(no), value)
  })
  verdicts.forEach((verdict, index) => write(instructions.length + index, RETURN, 0, 0, VERDICTS[verdict]))
  return new Uint8Array(program.buffer)
}
