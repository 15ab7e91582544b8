import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError, DEFAULT_LIMITS, type RecordedFile, type UndoAccess } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import { fileState } from '../../../src/fs/change-record.ts'
import { FileScope } from '../../../src/fs/file-scope.ts'
import { undoChanges } from '../../../src/fs/undo/undo.ts'
import { EffectCounter } from '../../../src/model/capability.ts'
import { temporaryFolder, toolOf } from '../../fixture.ts'

const SOURCE = { kind: 'file', at: 0, sessionId: 's', turn: 1, callId: 'c', rootCallId: 'c', tool: 'write' } as const

/** A workspace in which `written` has replaced `before` in some files, and `now` is there. */
async function changedFiles(
  count: number, before = 'before\n', written = 'written\n', now = written, record = async () => undefined as void,
) {
  const workspace = await temporaryFolder()
  const [old, fresh] = [fileState(Buffer.from(before), 0o644), fileState(Buffer.from(written), 0o644)]
  mkdirSync(join(workspace, 'sub'))
  const all = Array.from({ length: count }, (_, index): RecordedFile => {
    const path = join(workspace, `sub/f${index}`)
    writeFileSync(path, now)
    return { ...SOURCE, id: index + 1, workspace, path, before: old, after: fresh }
  })
  const access: UndoAccess = {
    select: async () => ({ all, selected: all, isUndone: false }), content: async () => Buffer.from(before),
    revert: async () => { throw new Error('Nothing was done by a tool.') },
  }
  const noted: string[] = []
  const scope = (power: 'fs.read' | 'fs.write') => new FileScope(power, [workspace], workspace)
  const undo = (given: JsonObject) => undoChanges(given, {
    workspace, access, scopes: { read: scope('fs.read'), write: scope('fs.write') },
    call: {
      callId: 'undo', tool: toolOf('undo'), signal: new AbortController().signal,
      effects: new EffectCounter(DEFAULT_LIMITS, { beginEffect: (what) => void noted.push(what) }),
    },
    changes: {
      file: record, undone: async () => undefined,
      command: async () => { throw new Error('No command was run.') },
    },
  })
  return { workspace, undo, noted }
}

it('names at most 20 files that would be lost, and has all of them in its data', async () => {
  const { undo } = await changedFiles(25, 'before\n', 'written\n', 'by another program\n')
  const error = await undo({ call: 'c' }).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'UndoConflict', data: { lost: { length: 25 } } })
  const lines = (error as Error).message.split('\n').filter((line) => line.startsWith('- '))
  expect([lines.length, lines.at(-1)]).toEqual([21, '- and 5 more'])
})

it('shows about 256 KB of diffs', LONG, async () => {
  const long = (word: string): string => `${`${word} of a line of text`.padEnd(63)}\n`.repeat(450)
  const { undo } = await changedFiles(8, long('one'), long('two'))
  const { diff } = await undo({ call: 'c', dryRun: true }) as { diff: string }
  expect(diff.match(/^\+\+\+ /gm)).toHaveLength(5)
  expect(diff).toMatch(/\[The diffs of further files are not shown\.\]\n$/)
})

it('puts nothing back through a link that has replaced a folder', async () => {
  const { workspace, undo } = await changedFiles(1)
  renameSync(join(workspace, 'sub'), join(workspace, 'moved'))
  symlinkSync('moved', join(workspace, 'sub'))
  await expect(undo({ call: 'c' })).rejects.toThrow('sub/f0: a folder above it is a link now')
})

it('notes that it begins after everything is recorded, and not if that fails', async () => {
  const recorded: number[] = []
  const { undo, noted } = await changedFiles(2, undefined, undefined, undefined, async () => {
    recorded.push(noted.length)
  })
  await undo({ call: 'c' })
  expect([recorded, [...new Set(noted)]]).toEqual([[0, 0], ['undoes changes']])

  let left = 1
  const failing = await changedFiles(2, undefined, undefined, undefined, async () => {
    if (left-- === 0) throw new BulkheadError('StoreUnavailable', 'The disk is full.')
  })
  await expect(failing.undo({ call: 'c' })).rejects.toMatchObject({ code: 'StoreUnavailable' })
  expect(failing.noted).toEqual([])
})
