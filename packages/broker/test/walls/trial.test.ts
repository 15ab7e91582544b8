import { beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { runsIf } from '../../../../scripts/skips.ts'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { launcherRules, type FilteredPowers } from '../../src/walls/filter-rules.ts'
import { FILE_RIGHTS, limitedToAbi, NEWEST_ABI, ruleSet, type RuleSet } from '../../src/walls/landlock.ts'
import { filterOf } from '../../src/walls/seccomp-filter.ts'
import {
  LOOK_POWERS, lookWall, nodeFiles, promisesOf, provenWall, tryWall, type TrialGroup, type TrialPlaces,
} from '../../src/walls/trial.ts'

const rulesOf = ({ seen, own, device }: TrialPlaces): RuleSet =>
  ruleSet({ run: nodeFiles(), read: [seen, device], write: [own] }, {}, 1)

/**
 * In `pnpm soak` the sets of indexes with bit 0, bit 1 and so on: no two indexes are in the same sets, and each is in
 * one
 * of them.
 */
const halves = (count: number): readonly (readonly number[])[] => {
  const all = Array.from({ length: count }, (_value, index) => index)
  const isIn = (index: number, bit: number): boolean => ((index + 1) >> bit & 1) === 1
  const half = (bit: number): readonly number[] => all.filter((index) => isIn(index, bit))
  // Every second one and the others: each is removed once, beside neighbours that are not.
  const sampled = [half(0), all.filter((index) => !isIn(index, 0))]
  return thoroughly(sampled, Array.from({ length: Math.ceil(Math.log2(count + 1)) }, (_, bit) => half(bit)))
}

const callOf = (attempt: string): string => attempt.split(' ')[0]!
const look = await lookWall()
const here = look.stands ? look.abi : 0

describe('the look wall', needs('Linux'), () => {
  it('stands where the kernel has Landlock, and says why elsewhere', () => {
    expect(look).toEqual(
      here > 0
        ? { stands: true, abi: here, confinesSignals: here >= 6 }
        : { stands: false, reason: expect.any(String) },
    )
  })

  it('does not stand if a program could not use what is granted', async () => {
    const outcome = await provenWall(LOOK_POWERS, ({ own }) => ruleSet({ run: nodeFiles(), write: [own] }, {}, 1))
    expect(outcome).toEqual({ stands: false, reason: expect.stringContaining('reading what is granted') })
  })
})

const needsLandlock = runsIf(here > 0, 'needs Landlock')

describe.each([
  ['none', { sockets: 'none', processes: true, metadata: false, confinesSignals: false }],
  ['tcp', { sockets: 'tcp', processes: true, metadata: true, confinesSignals: false }],
  ['threads', { sockets: 'nothing', processes: false, metadata: false, confinesSignals: false }],
] as const satisfies readonly (readonly [string, FilteredPowers])[])(
  'the filter for %s', needs('Linux'),
  (_, powers) => {
    const rules = launcherRules(powers)
    // Without Landlock, so that only the filter stops the attempts. It would not stop those of files.
    const groups = promisesOf(powers).filter((group) => !['files', 'programs'].includes(group))
    // Node ends if it gets a ring that it cannot use, so these are removed together.
    const names = [...new Set(rules.map(({ call: [name] }) => name).filter((name) => !name.startsWith('io_uring_')))]
    const units = [...names.map((name) => [name]), ['io_uring_setup', 'io_uring_enter', 'io_uring_register']]
    const without = (removed: readonly string[]) =>
      tryWall(
        () => ({
          filter: filterOf(
            process.arch, rules.filter(({ call: [name] }) => !removed.includes(name)),
          )!,
        }),
        groups,
      )

    /** Some calls are refused by the kernel itself, for lack of privileges. */
    let unfiltered: readonly string[]
    beforeAll(async () => { unfiltered = (await tryWall(() => ({}), groups)).passed })

    it('stops every attempt', async () => {
      expect((await without([])).passed).toEqual([])
    })

    it('is needed: the trial reports exactly the calls whose rule is removed', LONG, async () => {
      const isOpen = new Set(unfiltered.map(callOf))
      for (const half of halves(units.length)) {
        const removed = half.flatMap((index) => units[index]!)
        const reported = new Set((await without(removed)).passed.map(callOf))
        expect([...reported].toSorted()).toEqual(removed.filter((name) => isOpen.has(name)).toSorted())
      }
    })

    it('has a rule for each attempt that the kernel does not refuse itself', () => {
      const calls = new Set(rules.map(({ call: [name] }) => name))
      expect(unfiltered.map(callOf).filter((name) => !calls.has(name))).toEqual([])
      expect(unfiltered.length).toBeGreaterThan(20)
    })
  },
)

describe('Landlock', needsLandlock, () => {
  const GROUPS: readonly TrialGroup[] = ['files', 'devices', 'programs', 'signals']
  const SIGNALS = ['kill', 'tkill', 'tgkill', 'rt_sigqueueinfo', 'rt_tgsigqueueinfo']
  const trial = (change: (rules: RuleSet) => RuleSet) =>
    tryWall((places) => ({ rules: change(rulesOf(places)) }), GROUPS)

  it('stops every attempt, and the trial reports exactly the rights that are removed', async () => {
    expect((await trial((rules) => rules)).passed).toEqual(here >= 6 ? [] : expect.any(Array))
    const names = Object.keys(FILE_RIGHTS) as (keyof typeof FILE_RIGHTS)[]
    // Only root with capabilities can make devices.
    const untried = ['makeChar', 'makeBlock']
    for (const removed of halves(names.length).map((half) => half.map((index) => names[index]!))) {
      const mask = removed.reduce((bits, name) => bits | FILE_RIGHTS[name], 0)
      const { passed } = await trial((rules) => ({
        ...rules, governed: rules.governed.map((one) => ({ ...one, files: one.files & ~mask })),
      }))
      // Landlock refuses to move files between folders if it does not govern that. To truncate is also to write.
      const expected = removed.filter((name) => ![...untried, 'refer'].includes(name))
      expect(passed.filter((name) => !SIGNALS.includes(name)).toSorted()).toEqual(expected.toSorted())
    }
  })

  it.each(
    Array.from({ length: NEWEST_ABI }, (_, index) => index + 1).filter(
      (abi) => abi <= here && thoroughly([1, 4, here].includes(abi), true),
    ),
  )('of ABI %i stops what this ABI governs', LONG, async (abi) => {
    const { passed } = await trial((rules) => limitedToAbi(rules, abi))
    expect(passed).toEqual([
      ...(abi < 3 ? ['truncate'] : []), ...(abi < 5 ? ['ioctlDev'] : []), ...(abi < 6 ? SIGNALS : []),
    ])
  })

  it('of an ABI without a scope of signals needs the filter, and then all of the wall stands', LONG, async () => {
    for (const abi of thoroughly([3], [3, 4, 5])) {
      const outcome = await provenWall(LOOK_POWERS, (places) => limitedToAbi(rulesOf(places), abi))
      // The trial asks the kernel, which knows better than the limited rules.
      expect(outcome).toEqual(here >= 6 ? { stands: false, reason: expect.stringContaining('kill') } : outcome)
      const powers = { ...LOOK_POWERS, confinesSignals: false }
      const filter = filterOf(process.arch, launcherRules(powers))!
      const report = await tryWall(
        (places) => ({ rules: limitedToAbi(rulesOf(places), abi), filter }), promisesOf(powers),
      )
      expect(report).toMatchObject({ passed: [], useless: [] })
    }
  })

  it('that is too old for a wall starts nothing', async () => {
    const outcome = await provenWall(LOOK_POWERS, (places) => ({ ...rulesOf(places), leastAbi: NEWEST_ABI + 90 }))
    expect(outcome).toEqual({ stands: false, reason: expect.stringContaining('the kernel has ABI') })
  })
})
