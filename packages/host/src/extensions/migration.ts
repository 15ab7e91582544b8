import { BulkheadError, type Clock, type StateSlot, type StoredState } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import { atPointer, findJsonFault, isJsonObject, type Json } from '@bulkhead/kit/json'
import type { SchemaCheck } from './schema-checks.ts'

export interface MigrationSources {
  readonly extensionId: string
  readonly slot: StateSlot
  readonly check: SchemaCheck
  /** Runs in the compartment of the extension. */
  readonly migrate: (stored: StoredState, signal: AbortSignal) => Promise<Json>
  readonly clock: Clock
  /** How long it may take. */
  readonly migrationMs: number
}

/**
 * A stored state brought to the present version by the extension's own code, which is not believed: the version it says and
 * the schema are checked. Rejects with SlotMigrationFailed.
 */
export async function migrateSlot(stored: StoredState, sources: MigrationSources): Promise<StoredState> {
  const { extensionId, slot: { slotVersion }, check } = sources
  const failed = (why: string, cause?: unknown) => {
    const from = `The state of "${extensionId}" of version ${stored.slotVersion}`
    const data = { extension: extensionId, storedVersion: stored.slotVersion, currentVersion: slotVersion }
    return new BulkheadError('SlotMigrationFailed', `${from} could not be brought to ${slotVersion}: ${why}.`, { cause, data })
  }
  const answer = await askInTime(stored, sources).catch((thrown: unknown) => {
    throw failed(messageOf(thrown).replace(/\.$/, ''), thrown)
  })
  const { slotVersion: reached, data } = isJsonObject(answer) ? answer : {}
  if (reached !== slotVersion || data === undefined) {
    throw failed('migrateState did not return { slotVersion, data } of that version')
  }
  const fault = findJsonFault(data) ?? check(data)
  if (fault) throw failed(`what it became${atPointer(fault.path)} ${fault.message}`)
  return { slotVersion, data }
}

async function askInTime(stored: StoredState, { migrate, clock, migrationMs }: MigrationSources): Promise<Json> {
  const ending = new AbortController()
  const stopTimer = clock.after(migrationMs, () => {
    ending.abort(new BulkheadError('SlotMigrationFailed', `migrateState took longer than ${migrationMs} ms.`))
  })
  try {
    return await untilAborted(migrate(stored, ending.signal), ending.signal)
  } finally {
    stopTimer()
  }
}
