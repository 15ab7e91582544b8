import type { PreviewedWrite, PreviewedWrites } from '@bulkhead/contract'
import { renameArguments } from '@bulkhead/contract/dialects'
import { within } from '@bulkhead/kit/deadlines'
import { visibleText } from '@bulkhead/kit/text'
import type { HostContext, ValidatedCall } from '../policy/call.ts'
import type { CallAnalysis } from '../policy/model/checked-call.ts'
import { selectChanges, sessionChanges, undoneChanges } from '../records/undo-selection.ts'

/** A person is asked without a diff then. */
const DIFF_MS = 2_000

/**
 * The diff of what a call would write, for the person who is asked. undefined if it is not known. Contract: never
 * rejects.
 */
export async function approvalDiff(
  call: ValidatedCall, { writes }: CallAnalysis, host: HostContext,
): Promise<string | undefined> {
  const { diff } = host
  if (diff === undefined) return undefined
  try {
    const known = writes ?? await undoWrites(call, host)
    const guessed = known === undefined ? writesInArguments(call, host) : undefined
    const shown = known ?? guessed
    if (shown === undefined) return undefined
    const late = () => new Error('The files could not be read in time.')
    const { power } = call.session.policy.forTool(call.tool)
    const text = await within({ clock: host.clock, ms: DIFF_MS, late }, () => diff(shown, power))
    if (text === '') return undefined
    return visibleText(guessed ? `${AS_ARGUMENTS_SAY}\n${text}` : text, { keepLines: true })
  } catch {
    // The call reports why, if it runs.
    return undefined
  }
}

/** Only a tool whose arguments the host reads itself is known to do what they say. */
const AS_ARGUMENTS_SAY = '[As the arguments say. The tool itself decides what it writes.]'

/** What any other tool would write, if its arguments have the names of a bundled tool that writes. */
function writesInArguments(
  { tool, args, session }: ValidatedCall, { argumentsReaders }: HostContext,
): PreviewedWrites | undefined {
  if (tool.grant.fs.write.length === 0) return undefined
  const named = renameArguments(args, WRITING)
  const has = (...names: readonly string[]): boolean => names.every((name) => typeof named[name] === 'string')
  const like = has('path', 'content') ? 'write'
    : has('path', 'old_string', 'new_string') ? 'edit' : has('patch') ? 'apply_patch' : undefined
  return like && argumentsReaders.get(like)?.(named, session.paths).writes
}

const WRITING = { properties: { path: {}, content: {}, old_string: {}, new_string: {}, patch: {} } }

/** What the bundled tool `undo` would write: what was there before the first of the selected changes. */
async function undoWrites(
  { tool, args, session }: ValidatedCall, { changes, workspace }: HostContext,
): Promise<PreviewedWrites | undefined> {
  const { extension: { descriptor: { id, layer } } } = tool
  if (changes === undefined || layer !== 'bundled' || id !== 'undo') return undefined
  const { all, own } = await sessionChanges(changes, session, workspace)
  const first = new Map(selectChanges(own, args, undoneChanges(all)).toReversed()
    .flatMap((change) => change.kind === 'file' ? [[change.path, change.before]] : []))
  const writes: PreviewedWrite[] = []
  for (const [path, before] of first) {
    const content = before.kind === 'file' && before.digest !== null ? await changes.content(before.digest) : undefined
    if (before.kind === 'absent') writes.push({ path, content: null })
    else if (content !== undefined) writes.push({ path, content })
  }
  return writes
}
