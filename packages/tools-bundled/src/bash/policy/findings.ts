import type { ArgumentsReading, CallNeed, CallSubject } from '@bulkhead/contract'

/** Commands looked at for one judgement, those inside others included. */
const MAX_LOOKS = 300

/** What is gathered while a command is judged. */
export class Findings {
  readonly #subjects = new Map<string, Set<string>>()
  readonly #asks = new Map<string, boolean>()
  readonly #touches = new Set<string>()
  readonly #denies = new Set<string>()
  readonly #needs = new Map<string, CallNeed>()
  #looks = 0

  /** Counts. What has been said by then stands. */
  mayLookAgain(): boolean {
    return ++this.#looks <= MAX_LOOKS
  }

  subject(key: string, names: readonly string[]): void {
    const known = this.#subjects.get(key) ?? new Set()
    for (const name of names) if (name !== key) known.add(name)
    this.#subjects.set(key, known)
  }

  /** `fresh`: nothing that was approved before answers it. */
  ask(reason: string, fresh = false): void {
    this.#asks.set(reason, fresh || this.#asks.get(reason) === true)
  }

  /** A line for whoever is asked. */
  touch(line: string): void {
    this.#touches.add(line)
  }

  deny(reason: string): void {
    this.#denies.add(reason)
  }

  /** What it cannot do without. */
  need(need: CallNeed): void {
    this.#needs.set(JSON.stringify(need), need)
  }

  reading(key: string): ArgumentsReading {
    return {
      key,
      subjects: [...this.#subjects].map(([subject, names]): CallSubject => ({ key: subject, names: [...names] })),
      touches: [...this.#touches],
      asks: [...this.#asks].map(([reason, fresh]) => ({ reason, fresh })),
      denies: [...this.#denies],
      needs: [...this.#needs.values()],
    }
  }
}
