import type { WholeOutput } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { Call, CallRequest } from '../policy/call.ts'
import type { EventBus } from '../records/events.ts'
import type { Sidecar, SidecarFile } from '../records/timeouts.ts'

/** What stays in memory before there is a file. */
const MOST_IN_MEMORY = 1024 * 1024
/** A longer line may be mixed with those of another source. */
const MOST_OF_LINE = 64 * 1024
const LINE_END = 10

export interface OutputPlace {
  readonly sidecar: Required<Pick<Sidecar, 'open'>>
  readonly events: Pick<EventBus, 'suppressed'>
  /** The most that is saved. */
  readonly savedBytes: number
  /** The most that a model sees. */
  readonly shownBytes: number
}

/** Where the whole result is, if it could be saved. */
export interface SavedResult {
  readonly output_path?: string
  /** Set if the file has only the beginning. */
  readonly output_cut?: true
}

/** An attempt whose output is saved. */
export interface SavingAttempt {
  readonly call: Pick<Call, 'id' | 'session' | 'request'>
  readonly attempt: number
}

/** The whole output of one attempt of a call: in memory while a model can see all of it, then in a file. */
export class CallOutput implements WholeOutput {
  readonly attempt: number
  readonly #call: Pick<Call, 'id' | 'session'>
  readonly #place: OutputPlace
  /** The begun line of each source. */
  readonly #begun = new Map<string, Buffer>()
  #held: Buffer[] = []
  #heldBytes = 0
  #bytes = 0
  #file: Promise<SidecarFile> | undefined
  #written: Promise<void> = Promise.resolve()
  #isCut = false

  constructor({ call, attempt }: SavingAttempt, place: OutputPlace) {
    this.attempt = attempt
    this.#call = call
    this.#place = place
  }

  get isEmpty(): boolean {
    return this.#bytes === 0
  }

  add(source: string, bytes: Uint8Array): Promise<void> | undefined {
    const kept = bytes.subarray(0, this.#place.savedBytes - this.#bytes)
    if (kept.length < bytes.length) this.#isCut = true
    this.#bytes += kept.length
    const begun = this.#begun.get(source)
    const all = begun === undefined ? Buffer.from(kept) : Buffer.concat([begun, kept])
    const end = all.length > MOST_OF_LINE && !all.includes(LINE_END) ? all.length : all.lastIndexOf(LINE_END) + 1
    this.#begun.set(source, all.subarray(end))
    return this.#hold(all.subarray(0, end))
  }

  leaveOut(): void {
    this.#isCut = true
  }

  /** The file, with everything. Never rejects. */
  async close(): Promise<SavedResult> {
    for (const rest of this.#begun.values()) void this.#hold(rest)
    await this.#flush()
    const path = await this.#file?.then((file) => file.close()).catch((thrown: unknown) => this.#fail(thrown))
    return path === undefined ? {} : { output_path: path, ...(this.#isCut && { output_cut: true }) }
  }

  /** The result has everything. */
  drop(): void {
    this.#held = []
    void this.#written.then(() => this.#file).then((file) => file?.remove())
      .catch((thrown: unknown) => this.#place.events.suppressed('sidecar', thrown))
  }

  #hold(bytes: Buffer): Promise<void> | undefined {
    if (bytes.length === 0) return undefined
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    const most = this.#file === undefined ? Math.min(this.#place.shownBytes, MOST_IN_MEMORY) : 0
    return this.#heldBytes > most ? this.#flush() : undefined
  }

  #flush(): Promise<void> {
    const held = Buffer.concat(this.#held)
    this.#held = []
    this.#heldBytes = 0
    const { sidecar } = this.#place
    this.#file ??= sidecar.open(this.#call.session.id, this.#call.id)
    const file = this.#file
    this.#written = this.#written.then(async () => {
      if (held.length > 0) await (await file).write(held)
    }).catch((thrown: unknown) => this.#fail(thrown))
    return this.#written
  }

  /** What follows is not saved. */
  #fail(thrown: unknown): undefined {
    if (!this.#isCut) this.#place.events.suppressed('sidecar', new Error(messageOf(thrown), { cause: thrown }))
    this.#isCut = true
    this.#bytes = this.#place.savedBytes
    return undefined
  }
}

/** By the request of the call. */
const outputs = new WeakMap<CallRequest, CallOutput>()

/** The output of a running call. Each attempt has its own. */
export function openOutput(saving: SavingAttempt, place: OutputPlace): CallOutput {
  const { call: { request }, attempt } = saving
  const known = outputs.get(request)
  if (known?.attempt === attempt) return known
  known?.drop()
  const output = new CallOutput(saving, place)
  outputs.set(request, output)
  return output
}

/** undefined if the call saves nothing while it runs. */
export const outputOf = ({ request }: Call): CallOutput | undefined => outputs.get(request)
