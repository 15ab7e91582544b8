import {
  BulkheadError, type Clock, type Diagnostic, type ErrorCode, type ExtensionDescriptor, type Layer,
} from '@bulkhead/contract'
import { within } from '@bulkhead/kit/deadlines'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { Settings } from '../../model/settings.ts'
import type { Starter } from '../lifecycle/start.ts'
import type { Extension } from '../lifecycle/extension.ts'
import type { Candidate } from '../registry/candidate.ts'
import { isCandidate, type Proposal, type Registry, type Unprepared } from '../registry/registry.ts'
import { keyOf } from './plan.ts'

/** A new generation that runs and is not offered yet, for a check by the embedder. */
export interface Trial {
  readonly id: string
  readonly version: string
  readonly layer: Layer
  readonly generation: number
  readonly tools: readonly string[]
  /** Straight into the compartment: within the grant of the tool, without the policy of any session. */
  call(tool: string, args: JsonObject): Promise<Json>
}

/** A throw keeps the generation from taking over. */
export type SmokeCheck = (trial: Trial) => void | Promise<void>

/**
 * Starts a generation and checks it: its code is imported and matches its manifest, `init` and `activate`
 * succeed, and it is still running afterwards. Rejects with the reason; the caller stops it.
 */
export async function prove(
  extension: Extension,
  { check, starter, clock }: { check: SmokeCheck | undefined; starter: Starter | undefined; clock: Clock },
): Promise<void> {
  await extension.start(starter)
  if (check) await withinTime(extension, check, clock)
  // Gives an unhandled rejection of its last phase time to end it.
  await new Promise<void>((resolve) => { setImmediate(resolve) })
  if (extension.state === 'active') return
  const { id } = extension.descriptor
  throw extension.fault
    ?? new BulkheadError('CompartmentCrashed', `The compartment of "${id}" ended right after it was activated.`)
}

async function withinTime(extension: Extension, check: SmokeCheck, clock: Clock): Promise<void> {
  const ending = new AbortController()
  const { descriptor: { id }, arrangement: { limits: { phaseMs } } } = extension
  const late = () =>
    new BulkheadError(
      'LifecycleTimeout', `The smoke check of "${id}" took longer than ${phaseMs} ms.`, { data: { extension: id } },
    )
  try {
    return await within({ clock, ms: phaseMs, late }, async () => check(trialOf(extension, ending.signal)))
  } catch (thrown) {
    throw BulkheadError.from(thrown, 'LifecycleFailure')
  } finally {
    ending.abort(new BulkheadError('ToolCancelled', 'The smoke check is over.'))
  }
}

function trialOf(extension: Extension, signal: AbortSignal): Trial {
  const { descriptor: { id, version, layer, manifest }, generation } = extension
  let calls = 0
  return {
    id, version, layer, generation,
    tools: manifest.tools.map(({ name }) => name),
    async call(tool, args) {
      const compartment = await extension.start()
      return compartment.call({ callId: `smoke-check-${++calls}`, tool, args, signal })
    },
  }
}

export interface AttemptSources {
  readonly registry: Registry
  readonly settings: Settings
  readonly check: SmokeCheck | undefined
  readonly starter: Starter | undefined
  readonly clock: Clock
}

/** A candidate that is to take over from whatever serves its id now. */
interface Newcomer {
  readonly candidate: Candidate
  /** Of the same layer, to go back to. */
  readonly old: Candidate | undefined
  readonly startFirst: boolean
}

/**
 * The next registry, built and tried beside the current one. Extensions that fail are removed, so that in the end
 * everything new in the proposal works.
 */
export class Attempt {
  readonly failed = new Map<string, BulkheadError>()
  readonly #sources: AttemptSources
  readonly #newcomers = new Map<string, Newcomer>()
  readonly #proven = new Set<Extension>()
  #candidates: readonly Candidate[]
  #unprepared: readonly Unprepared[]

  constructor(sources: AttemptSources) {
    this.#sources = sources
    this.#candidates = sources.registry.candidates
    this.#unprepared = sources.registry.unprepared
  }

  drop(old: Candidate): void {
    this.#candidates = this.#candidates.filter((candidate) => candidate !== old)
  }

  /** Drops what could not be prepared and no longer exists. */
  keepUnprepared(isThere: (descriptor: ExtensionDescriptor) => boolean): void {
    this.#unprepared = this.#unprepared.filter(({ descriptor }) => isThere(descriptor))
  }

  /** Undefined if its tools cannot be compiled; then it counts as failed. */
  take(descriptor: ExtensionDescriptor, old: Candidate | undefined, startFirst: boolean): Candidate | undefined {
    const prepared = this.#sources.registry.prepare(descriptor, this.#sources.settings)
    this.keepUnprepared((other) => keyOf(other) !== keyOf(descriptor))
    if (!isCandidate(prepared)) {
      this.failed.set(keyOf(descriptor), prepared.error)
      if (!old) this.#unprepared = [...this.#unprepared, prepared]
      return undefined
    }
    if (old) this.drop(old)
    this.#candidates = [...this.#candidates, prepared]
    this.#newcomers.set(keyOf(descriptor), { candidate: prepared, old, startFirst })
    return prepared
  }

  /** Resolves with a proposal that works. Rejects only with what `goOn` throws, and then leaves nothing running. */
  async prove(goOn: () => void): Promise<Proposal> {
    const { registry, settings } = this.#sources
    for (;;) {
      const proposal = registry.propose(this.#candidates, this.#unprepared, settings)
      const refused = proposal.composition.refused.flatMap(({ candidate, error }) =>
        this.#isNew(candidate) && this.#revert(candidate, error) ? [candidate] : [])
      if (refused.length > 0) continue
      const served = [...proposal.composition.extensions.values()]
      const toStart = served
        .filter((candidate) => this.#isNew(candidate)?.startFirst && !this.#proven.has(candidate.extension))
      const faults = await Promise.all(toStart.map((candidate) => this.#tryOut(candidate)))
      try {
        goOn()
      } catch (thrown) {
        await this.abandon(BulkheadError.from(thrown))
        throw thrown
      }
      if (faults.every((fault) => fault === undefined)) return proposal
    }
  }

  /** Stops whatever was started for it. */
  async abandon(reason: BulkheadError): Promise<void> {
    await Promise.all([...this.#newcomers.values()].map(({ candidate }) => candidate.extension.stop(reason, 0)))
  }

  #isNew(candidate: Candidate): Newcomer | undefined {
    const newcomer = this.#newcomers.get(keyOf(candidate.descriptor))
    return newcomer?.candidate === candidate ? newcomer : undefined
  }

  async #tryOut(candidate: Candidate): Promise<BulkheadError | undefined> {
    try {
      await prove(candidate.extension, this.#sources)
      this.#proven.add(candidate.extension)
      return undefined
    } catch (thrown) {
      const error = BulkheadError.from(thrown)
      this.#revert(candidate, error)
      await candidate.extension.stop(error, 0)
      return error
    }
  }

  /** Reverts to the last good one. Without one, the new one stays, rejected with its reason. */
  #revert(candidate: Candidate, error: BulkheadError): boolean {
    const key = keyOf(candidate.descriptor)
    const { old, startFirst } = this.#newcomers.get(key)!
    if (!old && !startFirst) return false
    this.failed.set(key, error)
    this.#newcomers.delete(key)
    this.#candidates = this.#candidates.flatMap((other) => other === candidate ? (old ? [old] : []) : [other])
    return true
  }
}

/** The diagnostic of a loader as an error. */
export const errorOf = ({ code, message, path }: Diagnostic): BulkheadError =>
  new BulkheadError(code satisfies ErrorCode, message, { data: { path } })
