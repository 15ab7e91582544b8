import { constants, endianness } from 'node:os'
import { CHECKED, type SystemCall } from './system-calls.ts'

// Classic BPF for seccomp: instructions of eight bytes that load a word, mask it and compare it.
const LOAD = 0x20
const MASK = 0x54
const IF_EQUAL = 0x15
const IF_AT_LEAST = 0x35
const IF_ANY_BIT = 0x45
const RETURN = 0x06
const INSTRUCTION_BYTES = 8
/** How far a comparison can jump. */
const MOST_SKIPPED = 255

/** Offsets in the kernel's `seccomp_data`. Only the low word of an argument matters in the calls that are checked. */
const NUMBER = 0
const ARCHITECTURE = 4
const FIRST_ARGUMENT = 16
const ARGUMENT_BYTES = 8

const ALLOW = 0x7fff_0000
const FAIL_WITH = 0x0005_0000
/** Numbers of the x32 ABI start here. */
const X32 = 0x4000_0000

interface Architecture {
  readonly audit: number
  readonly numberOf: (call: SystemCall) => number | null
}

/** By Node's name: the kernel's audit number, and the column of system call numbers. */
const ARCHITECTURES: ReadonlyMap<string, Architecture> = new Map([
  ['x64', { audit: 0xc000_003e, numberOf: ([, x64]) => x64 }],
  ['arm64', { audit: 0xc000_00b7, numberOf: ([, , arm64]) => arm64 }],
])

/** The last instructions of the program: its jump targets. */
const ACTIONS = {
  allow: ALLOW,
  refuse: FAIL_WITH | constants.errno.EPERM,
  unknown: FAIL_WITH | constants.errno.ENOSYS,
} as const
type Action = keyof typeof ACTIONS

interface Instruction {
  readonly code: number
  readonly value: number
  /** Jump targets of a comparison; the default is the next instruction. A number skips that many instructions. */
  readonly yes?: Action | number
  readonly no?: Action | number
}

/** What a filter does about one system call. */
export interface FilterRule {
  readonly call: SystemCall
  /** Checks of its arguments; the last one decides. Absent: the call is refused. */
  readonly checks?: readonly Instruction[]
}

export const refuse = (call: SystemCall): FilterRule => ({ call })

/** The following checks are about this argument, or about these bits of it. */
export const argument = (index: number, bits?: number): readonly Instruction[] => [
  { code: LOAD, value: FIRST_ARGUMENT + ARGUMENT_BYTES * index },
  ...(bits === undefined ? [] : [{ code: MASK, value: bits }]),
]

/** Decides if it is one of these values. */
export const equals = (values: readonly number[], then: Action): readonly Instruction[] =>
  values.map((value) => ({ code: IF_EQUAL, value, yes: then }))

/** Refuses unless it is one of these values. Otherwise the next check follows, or the call is allowed. */
export const mustBe = (values: readonly number[], last = false): readonly Instruction[] =>
  values.map((value, index) => ({
    code: IF_EQUAL, value, yes: last ? 'allow' : values.length - 1 - index,
    ...(index === values.length - 1 && { no: 'refuse' }),
  }))

/** Decides by whether one of these bits is set. */
export const anyBit = (bits: number, yes: Action, no: Action): readonly Instruction[] =>
  [{ code: IF_ANY_BIT, value: bits, yes, no }]

/** Decides what no check has decided. */
export const otherwise = (then: Action): readonly Instruction[] => [{ code: IF_EQUAL, value: 0, yes: then, no: then }]

/**
 * A seccomp filter of these rules; other calls are allowed. It never kills: libuv tries io_uring at every start and goes
 * on without. Undefined for an unknown architecture.
 */
export function filterOf(architecture: string, rules: readonly FilterRule[]): Uint8Array | undefined {
  const known = ARCHITECTURES.get(architecture)
  if (known === undefined || endianness() !== 'LE') return undefined
  const { audit, numberOf } = known
  return assemble([
    { code: LOAD, value: ARCHITECTURE },
    { code: IF_EQUAL, value: audit, no: 'refuse' },
    { code: LOAD, value: NUMBER },
    { code: IF_AT_LEAST, value: X32, yes: 'refuse' },
    // Its flags are not visible here; the C library falls back to `clone` on ENOSYS.
    { code: IF_EQUAL, value: numberOf(CHECKED.clone3)!, yes: 'unknown' },
    ...rules.flatMap(({ call, checks }): readonly Instruction[] => {
      const value = numberOf(call)
      if (value === null) return []
      return checks === undefined ? [{ code: IF_EQUAL, value, yes: 'refuse' }]
        : [{ code: IF_EQUAL, value, no: checks.length }, ...checks]
    }),
    ...otherwise('allow'),
  ])
}

function assemble(instructions: readonly Instruction[]): Uint8Array {
  const actions = Object.keys(ACTIONS) as Action[]
  const program = new DataView(new ArrayBuffer((instructions.length + actions.length) * INSTRUCTION_BYTES))
  const write = (index: number, code: number, yes: number, no: number, value: number): void => {
    const at = index * INSTRUCTION_BYTES
    if (yes > MOST_SKIPPED || no > MOST_SKIPPED) throw new RangeError('The filter is too long for its jumps.')
    program.setUint16(at, code, true)
    program.setUint8(at + 2, yes)
    program.setUint8(at + 3, no)
    program.setUint32(at + 4, value, true)
  }
  instructions.forEach(({ code, value, yes, no }, index) => {
    const over = (target: Action | number = 0): number =>
      typeof target === 'number' ? target : instructions.length + actions.indexOf(target) - index - 1
    write(index, code, over(yes), over(no), value)
  })
  actions.forEach((action, index) => write(instructions.length + index, RETURN, 0, 0, ACTIONS[action]))
  return new Uint8Array(program.buffer)
}
