import { randomUUID } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError, LOCK_FILE } from '@bulkhead/contract'
import type { Settings } from '../config/settings.ts'
import { installedPart, isInstalled, type LockChange } from '../lock/lock-file.ts'
import { packageDigest } from '../model/digest.ts'
import { measureParts, projectDigest, type ProjectPart } from '../trust/project-digest.ts'
import { appendTrustEntry, latestDecisions, readTrustFile, TRUST_FILE } from '../trust/trust-file.ts'
import { createTrustLedger } from '../trust/trust-ledger.ts'

/**
 * Keeps a trusted project trusted after an installation that a person approved: the new record covers the earlier content with exactly
 * that change. Any other change needs a new decision.
 */
export class TrustRenewal {
  readonly #file: string
  readonly #path: string
  readonly #parts: readonly ProjectPart[]

  private constructor(file: string, path: string, parts: readonly ProjectPart[]) {
    this.#file = file
    this.#path = path
    this.#parts = parts
  }

  /** Call before the change. Resolves with null if the project is not trusted as it is. */
  static async begin(workspace: string, settings: Settings): Promise<TrustRenewal | null> {
    const { globalRoot, projectFolder } = settings
    const { standing } = await createTrustLedger(settings).standing(workspace)
    if (standing.kind !== 'trusted' || globalRoot === null) return null
    const path = realpathSync(workspace)
    const parts = await measureParts({ workspace: path, root: join(path, projectFolder) }, settings)
    return projectDigest(parts) === standing.digest ? new TrustRenewal(join(globalRoot, TRUST_FILE), path, parts) : null
  }

  /** Call after the change, with the digest of the new lock. If the trust file cannot be written, the project needs a new decision. */
  renew(change: LockChange, lockDigest: string): void {
    const latest = latestDecisions(readTrustFile(this.#file).lines).get(this.#path)?.record
    // Trust may have been revoked meanwhile.
    if (latest?.decision !== 'trusted' || latest.digest !== projectDigest(this.#parts)) return
    const digest = projectDigest(partsAfter(this.#parts, change, lockDigest))
    try {
      appendTrustEntry(this.#file, { path: this.#path, decision: 'trusted', decidedAt: new Date().toISOString(), digest, id: randomUUID() })
    } catch (error) {
      if (!BulkheadError.is(error)) throw error
    }
  }
}

function partsAfter(parts: readonly ProjectPart[], { id, before, after, contents }: LockChange, lockDigest: string): readonly ProjectPart[] {
  const replaced = before !== null && isInstalled(before) ? installedPart(id, before.root) : undefined
  const added = after === null || contents === undefined
    ? [] : [{ name: installedPart(id, after.root), digest: packageDigest(contents.digests) }]
  return [...parts.filter(({ name }) => name !== LOCK_FILE && name !== replaced), { name: LOCK_FILE, digest: lockDigest }, ...added]
}
