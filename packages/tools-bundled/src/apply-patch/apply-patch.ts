import {
  type ArgumentsReader, defineTool, type FileReader, type FileWriter,
} from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { filesKey, pathKey, type NamedPath, readPaths, simpleReading, stringOr } from '../model/paths.ts'
import { parsePatch } from './parse-patch.ts'
import type { FilePatch } from './patch.ts'
import { type ResolvedFile, resolvePatch } from './resolve-patch.ts'

/** A longer reverse is left out: it would cost the model more than it helps. */
const REVERSE_BYTES = 16 * 1024

export const tool = defineTool({
  label: 'Apply a patch',
  description: 'Changes, creates, moves and deletes text files with a patch: all of them, or none if a hunk does not '
    + 'fit. A hunk may be at other lines than stated, and may differ in white space; `inexact` names these hunks. A '
    + 'hunk that fits in several places is refused. `reverse` is the patch that restores the old files.',
  input: {
    type: 'object',
    properties: {
      patch: {
        type: 'string', minLength: 1,
        description: 'A unified diff, as git writes it, or a patch from "*** Begin Patch" to "*** End Patch". Paths are '
          + 'relative to the workspace.',
      },
    },
    required: ['patch'],
    additionalProperties: false,
  },
  requires: { fs: { read: ['{workspace}', '{workspace}/**/.*'], write: ['{workspace}'] } },
  gated: true,
  mode: 'safe_write',
  kind: 'edit',
  execute: ({ patch }, { fs }) => apply(patch, fs),
  deriveApprovalKey: ({ patch }) => filesKey(pathsIn(parsePatch(patch)).map(pathKey)),
})

async function apply(patch: string, fs: FileReader & FileWriter): Promise<JsonObject> {
  const { files, updates } = await resolvePatch(parsePatch(patch), fs)
  const { reversePatch } = await import('./reverse-patch.ts')
  const applied = await fs.apply(updates)
  const wasExecutable = new Map(updates.map(({ path }, index) => [path, applied[index]!.wasExecutable]))
  const reverse = reversePatch(files, wasExecutable, REVERSE_BYTES)
  return { files: files.map(reportOf), ...(reverse !== undefined && { reverse }) }
}

function reportOf(file: ResolvedFile): JsonObject {
  const { from, to, placed } = file
  const inexact = placed.flatMap(({ at, offset, fuzz, isRecounted }, index) =>
    offset === 0 && fuzz === 'none' && !isRecounted ? [] : [{
      hunk: index + 1, line: at + 1, ...(offset !== 0 && { offset }), ...(fuzz !== 'none' && { fuzz }),
      ...(isRecounted && { recounted: true }),
    }])
  return {
    path: to ?? from!, change: changeOf(file), ...(to !== null && from !== null && from !== to && { from }),
    hunks: placed.length, ...(inexact.length > 0 && { inexact }),
  }
}

const changeOf = ({ from, to, isCopy }: FilePatch): string =>
  from === null ? 'created' : to === null ? 'deleted' : from === to ? 'changed' : isCopy === true ? 'copied' : 'moved'

const pathsIn = (files: readonly FilePatch[]): readonly string[] =>
  [...new Set(files.flatMap(({ from, to }) => [from, to].filter((path) => path !== null)))]

/**
 * Every path that the patch names. A patch that cannot be read touches nothing: the call fails, and no person is asked.
 */
export const readArguments: ArgumentsReader = ({ patch }, context) => {
  let files: readonly FilePatch[]
  try {
    files = parsePatch(stringOr(patch))
  } catch {
    const effects = { reads: [], writes: [], net: false } as const
    return { ...simpleReading('no patch', [], 'nothing: it is not a patch'), effects, onlyReads: true }
  }
  return {
    ...readPaths(files.flatMap(namedPaths), context),
    writes: async (fs) => (await resolvePatch(files, fs)).updates.map(({ path, after }) => ({ path, content: after })),
  }
}

function namedPaths(file: FilePatch): readonly NamedPath[] {
  const { from, to, isCopy } = file
  const old = { isFolder: false, needs: ['fs.read', 'fs.write'], isWritten: true } as const
  const fresh = { isFolder: false, needs: ['fs.write'], isWritten: true } as const
  if (from === null) return [{ ...fresh, path: to!, verb: 'create' }]
  if (to === null) return [{ ...old, path: from, verb: 'delete' }]
  if (from === to) return [{ ...old, path: to, verb: 'change' }]
  return [
    isCopy === true
      ? { isFolder: false, needs: ['fs.read'], path: from, verb: 'copy' } : { ...old, path: from, verb: 'move' },
    { ...fresh, path: to, verb: 'create' },
  ]
}

export const loadLate = (): Promise<unknown> => import('./reverse-patch.ts')
