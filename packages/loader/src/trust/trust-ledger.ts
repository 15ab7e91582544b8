import { randomUUID } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import {
  BulkheadError, LOCK_FILE, type Diagnostic, type TrustDecision, type TrustLedger, type TrustRecord, type TrustReport,
  type TrustStatus,
} from '@bulkhead/contract'
import { isAbsent } from '@bulkhead/kit/folders'
import type { Settings } from '../config/settings.ts'
import type { OpenProject } from '../discover/layer-sources.ts'
import { installedPart, isInstalled, type LockChange } from '../lock/lock-file.ts'
import { diagnose } from '../model/result.ts'
import { byteOrder, packageDigest } from '../model/digest.ts'
import {
  EMPTY_LAYER, locateProjectLayer, measureParts, measureProject, projectDigest, type ProjectLayer, type ProjectPart,
} from './project-layer.ts'
import {
  appendTrustEntry, isBroken, isDigest, latestDecisions, readTrustFile, TRUST_FILE, type LatestDecision,
  type TrustLines,
} from './trust-file.ts'

/** Manages the trust file in the folder of the global layer. */
export function createTrustLedger(settings: Settings): TrustLedger {
  const file = settings.globalRoot === null ? null : join(settings.globalRoot, TRUST_FILE)
  const read = (): TrustLines => file === null ? { lines: [] } : readTrustFile(file)

  /** The canonical path of the workspace, and its project layer. */
  const open = (workspace: string): { readonly path: string; readonly layer: ProjectLayer } => {
    const layer = locateProjectLayer(workspace, settings)
    const path = realpathSync(workspace)
    if (layer.kind !== 'folder') return { path, layer }
    const root = join(path, settings.projectFolder)
    return { path, layer: { kind: 'folder', root, folder: layer.folder && root } }
  }

  const status = async (workspace: string): Promise<TrustReport> => {
    const { path, layer } = open(workspace)
    const lines = read()
    const diagnostics = file === null ? [] : report(file, lines)
    if (layer.kind !== 'folder') return reportOf({ kind: 'nothing', digest: EMPTY_LAYER }, diagnostics)
    // A trust file inside the project is under the project's control.
    if (file !== null && isInside(layer.root, file)) return reportOf({ kind: 'unknown' }, diagnostics)
    const latest = latestDecisions(lines.lines).get(path)
    return reportOf(await statusOf(latest, { workspace: path, root: layer.folder }, settings), diagnostics)
  }

  const measure = (path: string, layer: ProjectLayer): Promise<string> | string =>
    layer.kind === 'folder' ? measureProject({ workspace: path, root: layer.folder }, settings) : EMPTY_LAYER

  const decide = async (workspace: string, decision: TrustDecision, seen?: string): Promise<TrustRecord> => {
    const { path, layer } = open(workspace)
    if (file === null) {
      throw new BulkheadError('TrustStoreUnavailable', 'There is no global layer to store the trust file in.')
    }
    if (isInside(join(path, settings.projectFolder), file)) throw inside(file, path)
    if ((decision === 'trusted' || decision === 'once') && layer.kind !== 'folder') {
      const what = layer.kind === 'none'
        ? `has no tools, settings or skills of its own. They would be in the folder "${settings.projectFolder}"`
        : `has a "${settings.projectFolder}" that ${layer.what}`
      throw new BulkheadError('ProjectPathInvalid', `There is nothing to trust: "${path}" ${what}.`, {
        data: { workspace: path },
      })
    }
    const digest = decision === 'revoked' ? null : seen ?? await measure(path, layer)
    if (digest !== null && !isDigest(digest)) {
      throw new BulkheadError(
        'TrustEntryInvalid', 'A decision needs the digest of the reviewed project: 128 lower-case hex digits.',
      )
    }
    const record: TrustRecord = Object.freeze({ path, decision, decidedAt: new Date().toISOString(), digest })
    appendTrustEntry(file, { ...record, id: randomUUID() })
    return record
  }

  const takeUp = async (workspace: string): Promise<boolean> => {
    const { path } = open(workspace)
    const id = randomUUID()
    if (file === null) return false
    appendTrustEntry(file, { path, decision: 'used', decidedAt: new Date().toISOString(), digest: null, id })
    return latestDecisions(read().lines).get(path)?.usedBy === id
  }

  const list: TrustLedger['list'] = async () => {
    const lines = read()
    const records = [...latestDecisions(lines.lines).values()].filter(isActive).map(({ record }) => record)
    return {
      records: records.toSorted((one, other) => byteOrder(one.path, other.path)),
      diagnostics: file === null ? [] : report(file, lines),
    }
  }
  return {
    status, standing: status, decide, takeUp, list,
    async measure(workspace) {
      const { path, layer } = open(workspace)
      return measure(path, layer)
    },
  }
}

const reportOf = (status: TrustStatus, diagnostics: readonly Diagnostic[]): TrustReport =>
  ({ status, standing: status, diagnostics })

const isActive = ({ record, usedBy }: LatestDecision): boolean => record.decision !== 'revoked' && usedBy === undefined

/** Reads the project only if there is a decision to compare it with. */
async function statusOf(
  latest: LatestDecision | undefined, project: OpenProject, settings: Settings,
): Promise<TrustStatus> {
  if (latest === undefined || !isActive(latest)) return { kind: 'unknown' }
  const { decision, decidedAt: since, digest } = latest.record
  if (decision === 'revoked') return { kind: 'unknown' }
  if (digest === null) return { kind: 'declined', since, digest: 'any' }
  return await measureProject(project, settings) === digest
    ? { kind: decision, since, digest } : { kind: 'changed', since }
}

function report(file: string, { lines, unavailable }: TrustLines): readonly Diagnostic[] {
  const subject = { layer: 'global', extensionId: null, location: file } as const
  if (unavailable !== undefined) {
    const message = `The trust file ${unavailable}. No project is trusted.`
    return [diagnose(subject, { stage: 'trust', code: 'TrustStoreUnavailable', path: '', message })]
  }
  return lines.filter(isBroken).map(({ line, message }) => diagnose(subject, {
    stage: 'trust', code: 'TrustEntryInvalid', path: '',
    message: `Line ${line} of the trust file ${message}. Decisions to trust before this line are void.`,
    cure: 'Remove the line, and trust the projects again when asked.',
  }, 'warning'))
}

/** Whether the file is inside the folder once links are resolved. The path of the folder is canonical. */
function isInside(folder: string, file: string): boolean {
  const way = relative(folder, canonical(dirname(file)))
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way))
}

/** The canonical path of a file that may not exist yet. */
function canonical(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(canonical(parent), relative(parent, path))
  }
}

const inside = (file: string, path: string): BulkheadError => new BulkheadError(
  'TrustScopeViolation', `The trust file "${file}" is inside the project "${path}", so it cannot record trust in it.`,
  { data: { file, path } },
)

/**
 * Keeps a trusted project trusted after an installation that a person approved: the new record covers the earlier
 * content with exactly that change. Any other change needs a new decision.
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
    const { status } = await createTrustLedger(settings).status(workspace)
    if (status.kind !== 'trusted' || globalRoot === null) return null
    const path = realpathSync(workspace)
    const root = join(path, projectFolder)
    const parts = await measureParts({ workspace: path, root: isAbsent(root) ? null : root }, settings)
    return projectDigest(parts) === status.digest ? new TrustRenewal(join(globalRoot, TRUST_FILE), path, parts) : null
  }

  /**
   * Call after the change, with the digest of the new lock. If the trust file cannot be written, the project needs a
   * new decision.
   */
  renew(change: LockChange, lockDigest: string): void {
    const latest = latestDecisions(readTrustFile(this.#file).lines).get(this.#path)?.record
    // Trust may have been revoked meanwhile.
    if (latest?.decision !== 'trusted' || latest.digest !== projectDigest(this.#parts)) return
    const digest = projectDigest(partsAfter(this.#parts, change, lockDigest))
    try {
      appendTrustEntry(this.#file, {
        path: this.#path, decision: 'trusted', decidedAt: new Date().toISOString(), digest, id: randomUUID(),
      })
    } catch (error) {
      if (!BulkheadError.is(error)) throw error
    }
  }
}

function partsAfter(
  parts: readonly ProjectPart[], { id, before, after, contents }: LockChange, lockDigest: string,
): readonly ProjectPart[] {
  const replaced = before !== null && isInstalled(before) ? installedPart(id, before.root) : undefined
  const added = after === null || contents === undefined
    ? [] : [{ name: installedPart(id, after.root), digest: packageDigest(contents.digests) }]
  return [
    ...parts.filter(({ name }) => name !== LOCK_FILE && name !== replaced), { name: LOCK_FILE, digest: lockDigest },
    ...added,
  ]
}
