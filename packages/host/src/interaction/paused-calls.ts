import { randomUUID } from 'node:crypto'
import {
  BulkheadError, isJsonObject, messageOf, type InteractionRequest, type Json, type JsonObject, type Store,
} from '@bulkhead/contract'
import type { ClearedCall } from '../call.ts'
import { readValue } from './answers.ts'
import type { AskedQuestion } from './question-log.ts'
import { sha256 } from '../sha256.ts'

/** A call that waits for an answer, or has one and waits to go on. */
export interface PausedCall {
  readonly id: string
  readonly status: 'clarification_needed' | 'answered'
  readonly sessionId: string
  readonly call: { readonly id: string; readonly name: string; readonly arguments: JsonObject }
  readonly question: InteractionRequest
  readonly pausedAt: string
}

/** What a call knows when it goes on. */
export interface Resumption {
  readonly id: string
  /** Of the tool that asked: another one is told nothing. */
  readonly identity: string
  readonly asked: readonly AskedQuestion[]
}

/** A call that goes on. */
export interface Claim {
  readonly call: PausedCall['call']
  readonly resumption: Resumption
}

interface PausedRecord extends PausedCall {
  readonly identity: string
  readonly asked: readonly AskedQuestion[]
}

/** Questions of one workspace that outlive the process. */
export class PausedCalls {
  readonly #store: Store
  readonly #prefix: string
  readonly #now: () => number
  /** Those that go on right now. */
  readonly #claimed = new Set<string>()

  constructor(store: Store, workspace: string, now: () => number) {
    this.#store = store
    this.#prefix = `${sha256(workspace)}/`
    this.#now = now
  }

  /** Resolves with the id to answer under, when it is kept. A call that pauses again keeps its id. */
  async keep(call: ClearedCall, question: InteractionRequest, asked: readonly AskedQuestion[]): Promise<string> {
    const id = call.scope.resumption?.id ?? randomUUID()
    const record: PausedRecord = {
      id, status: 'clarification_needed', sessionId: call.session.id, question, asked,
      call: { id: call.id, name: call.name, arguments: call.proposed ?? call.args },
      identity: identityOf(call), pausedAt: new Date(this.#now()).toISOString(),
    }
    await this.#write(record)
    return id
  }

  async list(): Promise<readonly PausedCall[]> {
    const records = await this.#store.list('paused', this.#prefix)
    return records.flatMap(({ value }) => {
      const { identity: _identity, asked: _asked, ...paused } = readRecord(value) ?? {}
      return 'id' in paused ? [paused] : []
    })
  }

  async forget(id: string): Promise<void> {
    await this.#store.remove('paused', this.#prefix + id)
  }

  /**
   * Takes the answer, keeps it, and has the call for whoever goes on with it, who must release it. Rejects with NotFound,
   * InteractionAlreadyAnswered or InputInvalid, and then nothing has changed.
   */
  async claim(id: string, answer: Json | undefined): Promise<Claim> {
    if (this.#claimed.has(id)) throw alreadyAnswered(id)
    this.#claimed.add(id)
    try {
      const stored = await this.#store.read('paused', this.#prefix + id)
      const record = stored === undefined ? undefined : readRecord(stored)
      if (!record) throw new BulkheadError('NotFound', `No paused call has the id ${id}.`, { data: { id } })
      const { call, identity, asked } = await this.#answered(record, answer)
      return { call, resumption: { id, identity, asked } }
    } catch (thrown) {
      this.#claimed.delete(id)
      throw thrown
    }
  }

  release(id: string): void {
    this.#claimed.delete(id)
  }

  async #answered(record: PausedRecord, answer: Json | undefined): Promise<PausedRecord> {
    const { id, question, status, asked } = record
    if (status === 'answered') {
      if (answer !== undefined) throw alreadyAnswered(id)
      return record
    }
    const given = { question, answer: checked(question, answer) }
    const answered: PausedRecord = { ...record, status: 'answered', asked: [...asked, given] }
    await this.#write(answered)
    return answered
  }

  #write(record: PausedRecord): Promise<void> {
    return this.#store.write('paused', this.#prefix + record.id, record as unknown as JsonObject)
  }
}

export const identityOf = ({ tool }: ClearedCall): string => sha256(tool.identity)

function checked(question: InteractionRequest, answer: Json | undefined): Json {
  try {
    return readValue(question, answer)
  } catch (thrown) {
    throw new BulkheadError('InputInvalid', messageOf(thrown), { cause: thrown, data: { path: '/answer' } })
  }
}

/** undefined for what is not of the form that is written here. */
function readRecord(value: Json): PausedRecord | undefined {
  const { call, question, asked } = isJsonObject(value) ? value : {}
  const isRecord = isJsonObject(call) && isJsonObject(question) && Array.isArray(asked)
  return isRecord ? value as unknown as PausedRecord : undefined
}

const alreadyAnswered = (id: string) =>
  new BulkheadError('InteractionAlreadyAnswered', `The question of the paused call ${id} is answered already.`, { data: { id } })
