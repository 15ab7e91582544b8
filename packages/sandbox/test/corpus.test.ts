import { visibleText } from '@bulkhead/kit/text'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WALLS } from '../../../scripts/machine.ts'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { SECTIONS } from '../corpus/model/case.ts'
import type { Attack } from '../corpus/model/case.ts'
import { ATTACKS, ATTACKS_HERE, attackOf } from '../corpus/cases/index.ts'
import { ALL_LAYERS } from '../corpus/model/layers.ts'
import { ON_HOST, ON_PACKAGES } from '../corpus/on-packages.ts'
import { readRecord, readSection } from '../corpus/record.ts'
import { Lane } from '../corpus/run/lane.ts'
import type { Record } from '../corpus/run/measure.ts'
import { CONFINED, fateOf, REACHING, runControls, WITHOUT } from '../corpus/run/measure.ts'
import { runAttacks } from '../corpus/run/run.ts'
import type { HostFate } from '../corpus/model/fate.ts'
import type { Observation } from '../corpus/run/verdict.ts'
import { faultsOf, reached } from '../corpus/run/verdict.ts'
import { renderSection } from '../corpus/section.ts'

/** For all attacks together. Each has a limit of its own, and fails by name. */
const ALL_MS = 600_000
/** Two at a time, because many attacks wait for a deadline rather than compute. Each lane needs its own host. */
const lanes = [new Lane(), new Lane()]
/** Where few attacks run. One host after the other builds each image of the worker less often. */
const oneLane = lanes.slice(0, 1)
afterAll(async () => {
  await Promise.all(lanes.map((lane) => lane.close()))
})

const key = (id: number, placement: string): string => `${id} in a ${placement}`
const byKey = (observations: readonly Observation[]): ReadonlyMap<string, Observation> =>
  new Map(observations.map((one) => [key(one.id, one.placement), one]))
/** The first few of each section. */
const sampleOf = (attacks: readonly Attack[], count: number): readonly Attack[] =>
  [...Map.groupBy(attacks.filter(({ lucky }) => !lucky), ({ section }) => section).values()].flatMap((all) =>
    all.slice(0, count))
/** Sections whose attacks meet no wall of the system: the worker, the channel or the host stops them. */
const INNER: readonly Attack['section'][] = ['K', 'M', 'N', 'O', 'P', 'Q', 'R']
const needsOwnHull = ({ section, alone, heldBy, where }: Attack): boolean =>
  alone && INNER.includes(section) && heldBy === 'all layers' && where === 'everywhere'
/**
 * The attacks that run in a process: every one that meets a wall of the system or shares a hull, and of each inner
 * section one in twelve of those that need a hull of their own. `pnpm soak` runs all.
 */
const IN_PROCESS = thoroughly([
  ...ATTACKS_HERE.filter((attack) => !needsOwnHull(attack)),
  ...INNER.flatMap((inner) =>
    ATTACKS_HERE.filter((attack) => needsOwnHull(attack) && attack.section === inner).filter((_, at) => at % 12 === 0)),
], ATTACKS_HERE)
/** What two attacks of a section have in common that share a hull. */
const hullOf = ({ id, alone, requires, limits, workspace, in: inside }: Attack): string =>
  alone ? `${id}` : JSON.stringify([requires, limits, workspace, inside])
/** Those in the fullest hull of each section, and one that only the walls of the system hold. */
const FIRST = [...Map.groupBy(IN_PROCESS, ({ section, heldBy }) => heldBy === 'all layers' ? section : heldBy).values()]
  .flatMap((all) => [...Map.groupBy(all, hullOf).values()].reduce((most, hull) =>
    hull.length > most.length ? hull : most))
/** The attacks that also run in a thread: a sample of each section that a thread must contain. */
const IN_THREAD = sampleOf(ATTACKS_HERE.filter(({ placements }) => placements.includes('thread')), thoroughly(1, 3))

describe('the corpus', () => {
  it('has every attack number once: here, in the loader or in the host', () => {
    const ids = [...ATTACKS.map(({ id }) => id), ...ON_PACKAGES, ...ON_HOST]
    expect(new Set(ids).size).toBe(ids.length)
    expect(Array.from({ length: 264 }, (_, at) => at + 1).filter((id) => !ids.includes(id))).toEqual([])
  })

  it('has at least 264 attacks on compartments, in every section', () => {
    expect(ATTACKS.length).toBeGreaterThanOrEqual(264)
    expect([...new Set(ATTACKS.map(({ section }) => section))].toSorted()).toEqual(Object.keys(SECTIONS))
  })

  it('requires that a process contains every attack', () => {
    expect(ATTACKS.filter(({ placements }) => !placements.includes('process'))).toEqual([])
  })

  it('requires that a thread contains every attack that the security page does not list as an exception', async () => {
    const { notContainedInThread } = await readRecord()
    expect(ATTACKS.filter(({ placements }) => !placements.includes('thread')).map(({ id }) => String(id)))
      .toEqual(Object.keys(notContainedInThread))
  })

  it('shows no terminal control characters to the user', () => {
    const [, outcome] = attackOf(192).script[0]!
    const text = 'returned' in outcome ? (outcome.returned as { readonly text: string }).text : ''
    expect(text).toMatch(/\p{Cc}|\p{Cf}/u)
    expect(visibleText(text)).not.toMatch(/\p{Cc}|\p{Cf}/u)
  })
})

const LONG_WALLS = { tags: [...WALLS.tags, ...LONG.tags] }

describe.each([
  // The walls of the system are around processes only.
  { placement: 'process', attacks: FIRST, within: thoroughly(oneLane, lanes), options: WALLS },
  {
    placement: 'process', attacks: IN_PROCESS.filter((attack) => !FIRST.includes(attack)), within: lanes,
    options: LONG_WALLS,
  },
  // A sample is too short to prepare both hosts for threads.
  { placement: 'thread', attacks: IN_THREAD, within: thoroughly(oneLane, lanes), options: {} },
] as const)('an attack in a $placement', ({ placement, attacks, within, options }) => {
  let seen: ReadonlyMap<string, Observation>

  beforeAll(async () => {
    seen = byKey(await runAttacks({ attacks, placements: [placement], lanes: within }))
  }, ALL_MS)

  const required = attacks.map(({ id, title }) => [key(id, placement), title, id] as const)

  it.each(required)('%s is contained: %s', options, (name, _title, id) => {
    expect(faultsOf(attackOf(id), seen.get(name)!)).toEqual([])
  })
})

describe('a single layer', () => {
  const sections = sampleOf(CONFINED, 1)
  const sample = thoroughly(sections.filter((_, at) => at % 3 === 0), sections)
  let record: Record
  beforeAll(async () => {
    record = await readRecord()
  })

  it.each([['lockdown', 'withoutPermission', 'native'], ['permission', 'withoutLockdown', 'lockdown']] as const)(
    'the %s alone contains what the security page says', async (_layer, recorded, gone) => {
      const observations = await runAttacks({
        attacks: sample, placements: ['thread'], layers: WITHOUT[gone], lanes: oneLane, apart: true,
      })
      const reaching = observations.filter(reached).map(({ id }) => id).toSorted((one, other) => one - other)
      const ids = new Set(sample.map(({ id }) => id))
      expect(reaching).toEqual(record[recorded].thread.filter((id) => ids.has(id)))
    },
  )
})

describe('the same code', LONG, () => {
  let controls: ReadonlyMap<string, Observation>
  // One that only finds something, one that touches the target, and one on the gate. The last two leave a host behind
  // that must be replaced, so they come last. `pnpm soak` runs two of each section, and then all of them.
  const ofEach = sampleOf(REACHING, thoroughly(1, 2))
  const sample = thoroughly(
    ['J', 'A', 'M'].flatMap((wanted) => ofEach.filter(({ section }) => section === wanted)), ofEach,
  )

  beforeAll(async () => {
    controls = byKey(await runControls(sample, { lanes: oneLane }))
  }, ALL_MS)

  it.each(sample.map(({ id, title, section }) => [section, id,
    title] as const))('succeeds where nothing confines it: %s %i %s', (_section, id) => {
    const observation = controls.get(key(id, 'thread'))!
    expect(reached(observation)).toBe(true)
    // The check for containment must be able to fail.
    expect(faultsOf(attackOf(id), observation)).not.toEqual([])
  })

  it('exists in every section that the worker or the gate confines', () => {
    expect([
      ...new Set(REACHING.map(({ section }) => section)),
    ]).toEqual(['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K',
      'L', 'M', 'N', 'R'])
  })
})

describe('the effect of an attack on the host', () => {
  const seen = (id: number, fate: HostFate): Observation =>
    ({ id, placement: 'thread', layers: ALL_LAYERS, seen: [], fate, touched: [], tookMs: 1 })

  it('is recorded with all possible results only where it depends on chance', () => {
    expect(ATTACKS.filter(({ fates, placements }) => fates.length > 0 && placements.includes('thread'))).toEqual([])
    const [swollen, stuck, died] = [
      { kind: 'swollen', megabytes: 1_000 }, { kind: 'stuck' }, { kind: 'died', how: '' },
    ] as const
    const either = 'takes memory of the host or cannot be ended'
    expect([swollen, stuck, died].map((fate) => fateOf(seen(206, fate)))).toEqual([either, either, 'ends the host'])
    expect([swollen, stuck].map((fate) => fateOf(seen(215, fate))))
      .toEqual(['takes memory of the host', 'cannot be ended'])
  })
})

describe('the security page', () => {
  it('contains the recorded results', async () => {
    expect(await readSection()).toBe(renderSection(await readRecord()))
  })
})
