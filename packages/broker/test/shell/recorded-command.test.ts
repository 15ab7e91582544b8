import { afterAll, expect, it } from 'vitest'
import type { ChangeRecorder, FileReplacement, FileState, RecordedFile } from '@bulkhead/contract'
import { ownParts } from '../../src/shell/recorded-command.ts'
import { any, ShellSetup } from './shell-setup.ts'

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

const setup = new ShellSetup()
afterAll(() => setup.clear())

it('a command line is recorded up to a length', async () => {
  const lines: string[] = []
  const changes: ChangeRecorder = {
    file: async () => undefined, undone: async () => undefined,
    command: async (_, line) => {
      lines.push(line)
      return { others: async () => [], file: async () => undefined, complete: async () => undefined }
    },
  }
  await setup.open({ shell: any('true') }, { changes }).shell.run('true', ['x'.repeat(2_000)])
  expect(lines).toEqual([`true ${'x'.repeat(995)}`])
})
