import { readdir } from 'node:fs/promises'

/** One thing under comparison, started once and called many times. */
export interface Side<Name extends string = string> {
  readonly name: Name
  /** What `run(i)` must resolve to, compared deeply: a side that answers something else is not worth timing. */
  answer(i: number): unknown
  start(): Promise<Runner>
}

export interface Runner {
  /** Contract: rejects when the call failed, so that a fast failure is never taken for a fast answer. */
  run(i: number): Promise<unknown>
  /** Clears away what one call left, outside of its time. For a side whose calls are made one after the other only. */
  between?(): Promise<void>
  /** The memory that one of what it started takes while nothing is asked of it. For a side in the mode `memory`. */
  megabytes?(): Promise<number>
  /** The time that processors spend on one, in milliseconds. For a side in the mode `cpu`. */
  cpuMs?(): Promise<number>
  /** Rejects when the peer is gone, for a side whose calls would then wait for ever. */
  readonly died?: Promise<never>
  stop(): Promise<void>
}

/** Latency is one call after the other; throughput keeps `concurrency` calls under way; memory and CPU are read, not timed. */
export type Mode =
  | { readonly kind: 'latency' }
  | { readonly kind: 'throughput'; readonly concurrency: number }
  | { readonly kind: 'memory' }
  | { readonly kind: 'cpu' }

/** `p50` and `p99` are microseconds of one call, `64-way` is calls per second with 64 under way. */
export type Measure = 'p50' | 'p99' | `${number}-way` | 'idle' | 'cpu'

/** Reads as a sentence: side's measure is ≤ ratio × against's measure; or ≤ ratio, when it is held against nobody. */
export interface Goal<Name extends string = string> {
  readonly side: Name
  readonly measure: Measure
  readonly is: '≤' | '≥'
  readonly ratio: number
  readonly against?: Name
}

export interface Subject<Name extends string = string> {
  readonly title: string
  /** One sentence: what is compared, and on what terms. */
  readonly compares: string
  readonly sides: readonly Side<Name>[]
  readonly modes: readonly Mode[]
  /** Fewer than usual, where one turn takes so long that a few say enough; rounded up to whole cycles as those are. */
  readonly rounds?: number
  readonly goals: readonly Goal<NoInfer<Name>>[]
}

export function measuresOf(mode: Mode): Measure[] {
  switch (mode.kind) {
    case 'latency':
      return ['p50', 'p99']
    case 'throughput':
      return [`${mode.concurrency}-way`]
    case 'memory':
      return ['idle']
    case 'cpu':
      return ['cpu']
  }
}

/** Returns the subject as it is, or throws where it contradicts itself: found at import, before anything was measured. */
export function defineSubject<const Name extends string>(subject: Subject<Name>): Subject {
  const names = new Set<string>(subject.sides.map((side) => side.name))
  const measures = subject.modes.flatMap(measuresOf)
  if (names.size === 0) throw fault(subject, 'it has no sides')
  if (names.size !== subject.sides.length) throw fault(subject, 'two of its sides have one name')
  if (measures.length === 0) throw fault(subject, 'it has no modes')
  if (new Set(measures).size !== measures.length) throw fault(subject, 'two of its modes measure the same')
  for (const mode of subject.modes) {
    if (mode.kind === 'throughput' && !(Number.isInteger(mode.concurrency) && mode.concurrency > 0)) {
      throw fault(subject, `a concurrency of ${mode.concurrency} cannot be kept`)
    }
  }
  for (const goal of subject.goals) {
    for (const name of [goal.side, goal.against ?? goal.side]) {
      if (!names.has(name)) throw fault(subject, `a goal names the side "${name}", which it does not have`)
    }
    if (!measures.includes(goal.measure)) throw fault(subject, `a goal names ${goal.measure}, which none of its modes measures`)
  }
  return subject
}

function fault(subject: Subject, what: string): TypeError {
  return new TypeError(`The subject "${subject.title}" cannot be measured: ${what}. Correct its file in bench/src/subjects.`)
}

/** The subjects of a folder by name: `<name>.ts` exports `subject`. Nothing is imported before it is asked for. */
export interface Catalog {
  readonly names: readonly string[]
  load(name: string): Promise<Subject>
}

export async function openCatalog(folder: URL): Promise<Catalog> {
  const files = new Map<string, URL>()
  for (const file of (await readdir(folder)).toSorted()) {
    if (file.endsWith('.ts')) files.set(file.slice(0, -'.ts'.length), new URL(file, folder))
  }
  return {
    names: [...files.keys()],
    load: async (name) => {
      const file = files.get(name)
      if (file === undefined) throw new RangeError(`There is no subject "${name}" in ${folder.pathname}.`)
      const { subject } = (await import(file.href)) as { subject?: Subject }
      if (subject === undefined) {
        throw new TypeError(`${file.pathname} exports no subject. Add "export const subject = defineSubject({ … })" to it.`)
      }
      return subject
    },
  }
}
