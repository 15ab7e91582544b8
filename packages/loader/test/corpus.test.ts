import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { ARCHIVE_ATTACKS } from '../corpus/archive-attacks.ts'
import { KNOWN_HOLES } from '../corpus/known-holes.ts'
import { PACKAGE_ATTACKS, type PackageAttack } from '../corpus/package-attacks.ts'
import { outcomeOf, AttackFixture } from '../corpus/attack-fixture.ts'
import { SigstoreFixture } from './signature/sigstore-fixture.ts'

let sigstore: SigstoreFixture
beforeAll(async () => {
  sigstore = await SigstoreFixture.start()
})
afterAll(() => sigstore[Symbol.asyncDispose]())

/** The refusal, the result of the follow-up, whether the neighbour loads, and whether code ran. */
async function attack({ decided, setUp, policy, options, follow }: PackageAttack): Promise<readonly unknown[]> {
  using fixture = await AttackFixture.create(sigstore)
  const decision = await decided?.(fixture)
  await setUp(fixture)
  const report = await fixture.load(policy, options, decision)
  const { refused, extension } = outcomeOf(report, fixture)
  const followed = extension === undefined || follow === undefined ? 'blocked' : await follow(extension, fixture)
  // With the options that the neighbour supports.
  const isPlain = options === undefined && decision === undefined && follow === undefined
  const { neighbour, ran } = outcomeOf(isPlain ? report : await fixture.load(policy), fixture)
  return [refused, followed, neighbour, ran]
}

/** The first attack of each number, and the others, which are further forms of it. */
const formsOf = <T extends { readonly id: number }>(attacks: readonly T[]) => {
  const first = new Set(new Map(attacks.toReversed().map((one) => [one.id, one])).values())
  return [
    [attacks.filter((one) => first.has(one)), {}], [attacks.filter((one) => !first.has(one)), LONG],
  ] as const
}

describe.each(formsOf(PACKAGE_ATTACKS))('a hostile package', (attacks, options) => {
  test.each(attacks.map((one) => [one.id, one.title, one] as const))('%i: %s', options, async (id, _, one) => {
    const seen = await attack(one)
    if (KNOWN_HOLES.has(id))
      expect(seen, 'the attack is blocked now: remove it from the list').not.toEqual([
        one.refused, 'blocked', true, false,
      ])
    else expect(seen).toEqual([one.refused, 'blocked', true, false])
  })
})

test('a package without faults is loaded', async () => {
  using fixture = await AttackFixture.create(sigstore)
  const { home, valid } = fixture
  valid.install(home, await sigstore.sign(valid.integrityFile))
  const { refused, extension } = outcomeOf(await fixture.load({ signature: { global: 'require' } }), fixture)
  expect([refused, extension?.integrity]).toEqual(['loaded', 'signed'])
})

describe.each(formsOf(ARCHIVE_ATTACKS))('a hostile archive', (attacks, options) => {
  test.each(attacks.map(({ id, title, bytes }) => [id, title, bytes] as const))(
    '%i: %s', options,
    async (_, _title, bytes) => {
      using fixture = await AttackFixture.create(sigstore)
      const { home } = fixture
      home.write(join(home.base, 'evil.tgz'), bytes)
      const before = readdirSync(home.base, { recursive: true }).toSorted()
      await expect(fixture.accept('./evil.tgz')).rejects.toMatchObject({ code: 'PackageUnsafe' })
      expect(readdirSync(home.base, { recursive: true }).toSorted()).toEqual(before)
    },
  )
})

test('covers all attack numbers on packages', () => {
  const numbers = new Set([...PACKAGE_ATTACKS, ...ARCHIVE_ATTACKS].map(({ id }) => id))
  // 251 is about opening a compartment. It is in the corpus of the sandbox.
  const wanted = [
    193, 194, 195, ...Array.from({ length: 18 }, (_, at) => 241 + at).filter((id) => id !== 251), 360, 361,
  ]
  expect([...numbers].toSorted((one, other) => one - other)).toEqual(wanted)
})
