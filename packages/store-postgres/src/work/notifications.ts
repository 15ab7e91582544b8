import type pg from 'pg'
import type { Database } from '../connection/database.ts'

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000

/** Hears that something has changed. It proves nothing, and may miss anything: hosts also look with each heartbeat. */
export class Notifications {
  readonly #database: Database
  readonly #channels: readonly string[]
  readonly #heard: (channel: string) => void
  #client: pg.Client | undefined
  #timer: NodeJS.Timeout | undefined
  #pauseMs = FIRST_PAUSE_MS
  #isClosed = false

  constructor(database: Database, channels: readonly string[], heard: (channel: string) => void) {
    this.#database = database
    this.#channels = channels
    this.#heard = heard
    void this.#listen()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#drop()
  }

  async #listen(): Promise<void> {
    const client = this.#database.connectAlone()
    this.#client = client
    client.on('error', () => this.#again(client))
    client.on('end', () => this.#again(client))
    client.on('notification', ({ channel }) => this.#heard(channel))
    try {
      await client.connect()
      await client.query(this.#channels.map((channel) => `LISTEN "${channel}"`).join(';'))
      // It must not keep a program alive that has nothing else to do.
      ;(client as { unref?: () => void }).unref?.()
      this.#pauseMs = FIRST_PAUSE_MS
      if (this.#isClosed) this.#drop()
      else this.#channels.forEach(this.#heard)
    } catch {
      this.#again(client)
    }
  }

  #again(client: pg.Client): void {
    if (client !== this.#client || this.#isClosed) return
    this.#drop()
    this.#timer = setTimeout(() => void this.#listen(), this.#pauseMs).unref()
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS)
  }

  #drop(): void {
    const client = this.#client
    this.#client = undefined
    client?.connection.stream.destroy()
  }
}
