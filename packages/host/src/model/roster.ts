/** One who is there. */
export interface Entry<Member> {
  /** Absent once it has left. */
  member: Member | undefined
  before: Entry<Member>
  after: Entry<Member>
}

/**
 * Who is there, in the order they came. For those who come and go thousands of times a second: a Set that many pass through is
 * made anew again and again, and each old one keeps alive for a while whoever passed through it.
 */
export class Roster<Member> {
  readonly #ends: Entry<Member>
  #size = 0

  constructor() {
    const ends = { member: undefined } as Entry<Member>
    ends.before = ends
    ends.after = ends
    this.#ends = ends
  }

  get size(): number {
    return this.#size
  }

  enter(member: Member): Entry<Member> {
    const ends = this.#ends
    const entry = { member, before: ends.before, after: ends }
    ends.before.after = entry
    ends.before = entry
    this.#size++
    return entry
  }

  /** Returns whether it was there. */
  leave(entry: Entry<Member>): boolean {
    if (entry.member === undefined) return false
    entry.before.after = entry.after
    entry.after.before = entry.before
    entry.member = undefined
    entry.before = entry
    entry.after = entry
    this.#size--
    return true
  }

  /** Who has been there for the longest. */
  get first(): Member | undefined {
    return this.#ends.after.member
  }

  /** Those who are there now; whoever comes or goes meanwhile changes nothing of it. */
  members(): Member[] {
    const members: Member[] = []
    for (let entry = this.#ends.after; entry !== this.#ends; entry = entry.after) members.push(entry.member!)
    return members
  }
}
