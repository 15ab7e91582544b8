import { BulkheadError } from '@bulkhead/contract'
import { Batches } from '@bulkhead/kit/batches'
import { parseJson, type Json } from '@bulkhead/kit/json'
import { writeRecord } from '@bulkhead/store/records'
import type { Database, Statement, Value } from '../connection/database.ts'

/** Of one message, as JSON. */
const MESSAGE_BYTES = 1024 ** 2

interface Outgoing {
  readonly id: string
  readonly epoch: number
  readonly number: number
  readonly text: string
}

/**
 * Sends messages of calls in order. Each has a number, so that one whose answer was lost can be sent again. One statement
 * is under way at a time: a reader that has seen a number has seen all before it.
 */
export class Outbox {
  readonly #batches: Batches<Outgoing, undefined>

  constructor(database: Database, statement: Statement, also: () => readonly Value[] = () => []) {
    this.#batches = new Batches(async (messages) => {
      await database.query(statement, [
        messages.map(({ id }) => id), messages.map(({ epoch }) => epoch), messages.map(({ number }) => number),
        messages.map(({ text }) => text), ...also(),
      ])
      return messages.map(() => undefined)
    })
  }

  async send(id: string, epoch: number, number: number, message: Json): Promise<void> {
    await this.#batches.add({ id, epoch, number, text: messageText(message) })
  }
}

function messageText(message: Json): string {
  const text = writeRecord(message)
  const bytes = Buffer.byteLength(text)
  if (bytes <= MESSAGE_BYTES) return text
  throw new BulkheadError('MessageTooLarge', `A message between a caller and a worker has ${bytes} bytes, but at most `
    + `${MESSAGE_BYTES} can be sent. Send less at once.`)
}

/** undefined for what is no JSON: no sender of ours wrote it. */
export function messageIn(text: unknown): Json | undefined {
  const parsed = parseJson(String(text))
  return parsed.ok ? parsed.value : undefined
}
