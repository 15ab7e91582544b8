/** One of the things to compare. Started once, called many times. */
export interface Side<Name extends string = string> {
  readonly name: Name
  /** The required result of `run(i)`, compared deeply. */
  answer(i: number): unknown
  start(): Promise<Runner>
}

export interface Runner {
  /** Contract: rejects if the call failed, so that a fast failure does not count as a fast answer. */
  run(i: number): Promise<unknown>
  /** Cleans up after a call, outside the measured time. Only for latency. */
  between?(): Promise<void>
  /** The idle memory of one instance. For the mode `memory`. */
  megabytes?(): Promise<number>
  /** Milliseconds from a cold start to an answer. For the mode `first`. */
  firstMs?(): Promise<number>
  /** The median of the first calls of a fresh process, in microseconds. For the mode `early`. */
  earlyMicros?(): Promise<number>
  /** CPU time in milliseconds. For the mode `cpu`. */
  cpuMs?(): Promise<number>
  /** The length of what a model reads and writes, in tokens. For the mode `tokens`. */
  tokens?(): Promise<number>
  /** Rejects when the peer has ended, if calls would otherwise never settle. */
  readonly died?: Promise<never>
  stop(): Promise<void>
}

/** A side whose calls make one call of each of these, in this order, and answer as the second one. */
export const inTurn = <Name extends string>(name: Name, first: Side, second: Side): Side<Name> => ({
  name, answer: (i) => second.answer(i),
  async start() {
    const [before, after] = [await first.start(), await second.start()]
    return {
      async run(i) {
        await before.run(i)
        return after.run(i)
      },
      async stop() {
        await Promise.all([before.stop(), after.stop()])
      },
    }
  },
})

/** latency: sequential calls. throughput: `concurrency` calls in flight. The others are read, not timed. */
export type Mode =
  | { readonly kind: 'latency' }
  | { readonly kind: 'throughput'; readonly concurrency: number }
  | { readonly kind: 'memory' }
  | { readonly kind: 'cpu' }
  | { readonly kind: 'tokens' }
  | { readonly kind: 'first' }
  | { readonly kind: 'early' }

/** `p50` and `p99`: microseconds of one call. `64-way`: calls per second with 64 in flight. */
export type Measure = 'p50' | 'p99' | `${number}-way` | 'idle' | 'cpu' | 'tokens' | 'first' | 'early'

/** The measure of `side` divided by that of `against`, within each round. */
export interface Ratio<Name extends string = string> {
  readonly side: Name
  readonly measure: Measure
  readonly against: Name
}

/** The ratio must be ≤ or ≥ `ratio`. */
export interface Goal<Name extends string = string> extends Ratio<Name> {
  readonly is: '≤' | '≥'
  readonly ratio: number
}

export interface Subject<Name extends string = string> {
  readonly title: string
  /** The comparison, in one or two sentences. */
  readonly compares: string
  readonly sides: readonly Side<Name>[]
  readonly modes: readonly Mode[]
  /** Fewer for long turns, more where turns vary. Rounded up to whole cycles. */
  readonly rounds?: number
  readonly ratios: readonly (Ratio<NoInfer<Name>> | Goal<NoInfer<Name>>)[]
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
    case 'tokens':
    case 'first':
    case 'early':
      return [mode.kind]
  }
}

/**
 * Returns the subject unchanged. Throws if it is inconsistent, so that the fault is found before anything is measured.
 */
export function defineSubject<const Name extends string>(subject: Subject<Name>): Subject {
  const names = new Set<string>(subject.sides.map((side) => side.name))
  const measures = subject.modes.flatMap(measuresOf)
  if (names.size === 0) throw fault(subject, 'it has no sides')
  if (names.size !== subject.sides.length) throw fault(subject, 'two of its sides have the same name')
  if (measures.length === 0) throw fault(subject, 'it has no modes')
  if (new Set(measures).size !== measures.length) throw fault(subject, 'two of its modes measure the same')
  for (const mode of subject.modes) {
    if (mode.kind === 'throughput' && !(Number.isInteger(mode.concurrency) && mode.concurrency > 0)) {
      throw fault(subject, `a concurrency of ${mode.concurrency} is not a positive integer`)
    }
  }
  for (const { side, measure, against } of subject.ratios) {
    for (const name of [side, against]) {
      if (!names.has(name)) throw fault(subject, `a ratio names the unknown side "${name}"`)
    }
    if (!measures.includes(measure)) throw fault(subject, `a ratio names ${measure}, which no mode measures`)
  }
  return subject
}

function fault(subject: Subject, what: string): TypeError {
  return new TypeError(`The subject "${subject.title}" is invalid: ${what}. Fix its file in bench/src/subjects.`)
}

/** The subjects by name. Each is imported only when it runs, so that its modules do not affect the others. */
export type Subjects = Readonly<Record<string, () => Promise<Subject>>>
