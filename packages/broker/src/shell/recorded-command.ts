import type { ChangeRecorder, CommandRecorder, FileReplacement, RecordedFile } from '@bulkhead/contract'
import { Snapshot, type SnapshotParts } from '../fs/snapshot/snapshot.ts'
import { isSame } from '../fs/undo/plan.ts'
import { queueForFile } from '../fs/write-file.ts'
import type { OpenCall } from '../model/capability.ts'
import type { StartedCommand } from './starter.ts'

export interface RecordingParts extends SnapshotParts {
  readonly changes: ChangeRecorder
}

/**
 * Starts a command that may write, and records what it changes: the folders are copied before, and compared when its last
 * process is gone. Its result waits for that, so that the next call finds it recorded. If the folders cannot be
 * recorded, the command runs all the same, and undo says that it cannot put back what the command did.
 */
export async function startRecorded(
  { callId, hostCallId = callId }: OpenCall, line: string, parts: RecordingParts, stop: AbortSignal,
  start: () => Promise<StartedCommand>,
): Promise<StartedCommand> {
  const recorder = await parts.changes.command(hostCallId, line)
  const snapshot = await Snapshot.take(parts, stop).catch(() => undefined)
  if (snapshot === undefined) return start()
  const finish = (): Promise<void> => finishRecord(snapshot, recorder, parts.roots[0]!)
  try {
    const started = await start()
    const gone = started.gone.then(finish)
    const result = started.result.then(async (settled) => {
      await gone
      return settled
    })
    // It may reject before the caller can attach a handler.
    result.catch(() => undefined)
    return { result, gone, end: (reason) => started.end(reason) }
  } catch (error) {
    // Files for its output may have been created.
    await finish()
    throw error
  }
}

/** Never rejects: the command has happened. Without the last record, undo says that what it did is not recorded. */
async function finishRecord(snapshot: Snapshot, recorder: CommandRecorder, workspace: string): Promise<void> {
  try {
    // One at a time, so that each command sees what those before it have recorded.
    await queueForFile(`commands in ${workspace}`, async () => {
      const changes = await snapshot.changes(new AbortController().signal)
      if (changes.length > 0) await record(changes, snapshot, recorder)
      await recorder.complete()
    })
  } catch {
    // Undo reports it.
  } finally {
    await snapshot.remove().catch(() => undefined)
  }
}

async function record(
  changes: readonly FileReplacement[], snapshot: Snapshot, recorder: CommandRecorder,
): Promise<void> {
  // After the comparison: others record a change before it becomes visible.
  const others = Map.groupBy(await recorder.others(), ({ path }) => path)
  for (const change of changes) {
    for (const own of ownParts(change, others.get(change.path) ?? [])) {
      const isKept = isSame(own.before, change.before)
      await recorder.file(isKept ? { ...own, content: snapshot.content(own.path) } : own)
    }
  }
}

/**
 * What is left of a change after what others have recorded for the same path meanwhile: what preceded them, and what
 * followed them. So each change is recorded once. Of commands that run at the same time, the first that ends has it.
 */
export function ownParts(change: FileReplacement, recorded: readonly RecordedFile[]): readonly FileReplacement[] {
  // This one replaces what was found, so it came later.
  const later = recorded.findIndex(({ before }) => isSame(before, change.after))
  const others = later < 0 ? recorded : recorded.slice(0, later)
  if (others.length === 0) return [change]
  const [first, last] = [others[0]!.before, others.at(-1)!.after]
  return [{ ...change, after: first }, { ...change, before: last }]
    .filter(({ before, after }) => !isSame(before, after))
}
