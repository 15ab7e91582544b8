import { constants } from 'node:os'
import { REFUSED, systemCallsOf } from './system-calls.ts'

/** Classic BPF, as far as it is needed: https://docs.kernel.org/userspace-api/seccomp_filter.html */
const LOAD = 0x20
const JUMP_IF_EQUAL = 0x15
const JUMP_IF_AT_LEAST = 0x35
const JUMP_IF_SET = 0x45
const RETURN = 0x06
/** Where the kernel puts what is asked: number, architecture, instruction pointer, then six arguments of 8 bytes each. */
const NUMBER = 0
const ARCHITECTURE = 4
const FIRST_ARGUMENT = 16

const ALLOW = 0x7fff_0000
const ERROR = 0x0005_0000
/** Numbers from here on mean another calling convention of x86. */
const X32 = 0x4000_0000
const CLONE_THREAD = 0x0001_0000
const INSTRUCTION_BYTES = 8

type Verdict = 'allow' | 'refuse' | 'unknown'
/** Two ways on, each the next instruction or a verdict. */
interface Instruction {
  readonly code: number
  readonly value: number
  readonly then?: Verdict
  readonly else?: Verdict
}

/**
 * A program for the kernel that answers what a hull never asks for with an error, and never by killing: libuv asks for
 * io_uring at every start and goes on without. Undefined where the numbers of system calls are not known.
 */
export function seccompFilter(architecture: string): Uint8Array | undefined {
  const calls = systemCallsOf(architecture)
  if (calls === undefined) return undefined
  const numberOf = (name: string): number[] => calls.numbers.get(name) ?? []
  return assemble([
    { code: LOAD, value: ARCHITECTURE },
    { code: JUMP_IF_EQUAL, value: calls.audit, else: 'refuse' },
    { code: LOAD, value: NUMBER },
    { code: JUMP_IF_AT_LEAST, value: X32, then: 'refuse' },
    ...REFUSED.flatMap(numberOf).map((value): Instruction => ({ code: JUMP_IF_EQUAL, value, then: 'refuse' })),
    // Its flags are out of a filter's sight. Without it the C library uses `clone`.
    ...numberOf('clone3').map((value): Instruction => ({ code: JUMP_IF_EQUAL, value, then: 'unknown' })),
    ...numberOf('clone').map((value): Instruction => ({ code: JUMP_IF_EQUAL, value, else: 'allow' })),
    // A thread is what it may make; a process is not.
    { code: LOAD, value: FIRST_ARGUMENT },
    { code: JUMP_IF_SET, value: CLONE_THREAD, then: 'allow', else: 'refuse' },
  ])
}
