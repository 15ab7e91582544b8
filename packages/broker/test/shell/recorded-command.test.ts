import { expect, it } from 'vitest'
import type { FileReplacement, FileState, RecordedFile } from '@bulkhead/contract'
import { ownParts } from '../../src/shell/recorded-command.ts'

const state = (digest: string): FileState =>
  digest === '-' ? { kind: 'absent' } : { kind: 'file', digest, size: 1, mode: 0o644 }
const change = ([before, after]: string): FileReplacement => ({
  path: '/a', before: state(before!), after: state(after!),
})
const digestOf = (one: FileState): string => one.kind === 'file' ? one.digest! : '-'

it.each([
  ['nothing by others', 'xy', [], ['xy']],
  ['all by another', 'xy', ['xy'], []],
  ['all by two others', '-z', ['-y', 'yz'], []],
  ['before another', 'xy', ['zy'], ['xz']],
  ['after another', 'xz', ['xy'], ['yz']],
  ['before and after another', 'xz', ['ab'], ['xa', 'bz']],
  ['another that replaced what was found', 'xy', ['yz'], ['xy']],
  ['removed after another', 'x-', ['xy'], ['y-']],
])('a command has its own part of a change: %s', (_, whole, others, own) => {
  const parts = ownParts(change(whole), others.map((other) => change(other) as RecordedFile))
  expect(parts.map(({ before, after }) => digestOf(before) + digestOf(after))).toEqual(own)
})
