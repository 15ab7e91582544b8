import { BulkheadError, type Manifest, type StateSlot } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { callOnce, type CallFact, type CallsFacts } from './calls.ts'
import { generateArguments } from './generate.ts'
import { about, firstOf, type Requirement } from './requirement.ts'
import { asked, emptyState, inCompartment, type RunTarget } from './target.ts'
import { acceptsOf, validatorOf } from './validators.ts'

interface Migration {
  readonly from: string
  readonly result?: Json
  readonly error?: BulkheadError
}

export interface StateFacts {
  readonly slot: Manifest['stateSlot']
  readonly written: readonly Json[]
  /** Calls with a generated state, and the state. */
  readonly calls: readonly (readonly [CallFact, Json])[]
  readonly migrations: readonly Migration[]
}

/** Stored states of each kind. */
const RUNS = 4

/** Gives the extension states of its own and of earlier versions. */
export async function observeState(
  target: RunTarget, { states: written, reliable }: CallsFacts, seed: number,
): Promise<StateFacts> {
  const { stateSlot: slot } = target.extension.manifest
  if (slot === null) return { slot, written, calls: [], migrations: [] }
  const generated = statesOf(slot, seed)
  const calls: (readonly [CallFact, Json])[] = []
  for (const data of generated) {
    await inCompartment(target, async (opened) => {
      for (const fact of reliable) calls.push([await callOnce(opened, fact), data])
    }, { state: emptyState(data) })
  }
  const migrations = slot.driftPolicy === 'migrate' ? await migrate(target, slot, generated) : []
  return { slot, written, calls, migrations }
}

/** Values that satisfy the schema of the slot. */
function statesOf({ schema }: StateSlot, seed: number): readonly Json[] {
  const accepts = acceptsOf(schema)
  // The generator makes objects; other states are members of one.
  const inside = (value: Json): Json | undefined => isJsonObject(value) ? value['state'] : undefined
  const wrapped: JsonObject = { type: 'object', properties: { state: schema }, required: ['state'] }
  const all = generateArguments({
    schema: wrapped, seed, runs: RUNS,
    accepts: (value) => accepts(inside(value) ?? null) && inside(value) !== undefined,
  })
  return all.filter(({ kind }) => kind === 'valid' || kind === 'boundary').slice(0, 2 * RUNS)
    .flatMap(({ args }) => inside(args) ?? [])
}

async function migrate(
  target: RunTarget, { slotVersion }: StateSlot, states: readonly Json[],
): Promise<readonly Migration[]> {
  const olds: readonly Json[] = [{}, [], ...states.slice(0, RUNS)]
  return inCompartment(target, async ({ session, patience }) => {
    const migrations: Migration[] = []
    for (const from of earlier(slotVersion)) {
      for (const data of olds) {
        migrations.push(await asked({ patience }, 'migrateState', (signal) =>
          session.migrateState({ slotVersion: from, data }, signal).then(
            (result) => ({ from, result }), (thrown: unknown) => ({ from, error: BulkheadError.from(thrown) }),
          )))
      }
    }
    return migrations
  })
}

/** Versions that may have been before: each number counted down. */
function earlier(version: string): readonly string[] {
  const before = [...version.matchAll(/\d+/g)].flatMap(({ 0: number, index }) => Number(number) < 1 ? []
    : [version.slice(0, index) + String(Number(number) - 1) + version.slice(index + number.length)])
  return [...before.slice(0, 3), '0']
}

const SPEC = 'docs/guides/sessions.md'

export const STATE_REQUIREMENTS: readonly Requirement<StateFacts>[] = [
  {
    id: 'state-schema', level: 'must', spec: SPEC,
    statement: 'Every state that a tool writes satisfies the schema of stateSlot.',
    why: 'The host rejects it otherwise, and the change is lost.',
    cure: 'Correct the schema or the state.',
    check: ({ slot, written }) => {
      const check = slot && validatorOf(slot.schema)
      return firstOf(written, (state) => {
        const fault = check?.(state)
        return fault && `${JSON.stringify(state).slice(0, 120)}: ${fault}`
      })
    },
  },
  {
    id: 'state-accepts', level: 'must', spec: SPEC,
    statement: 'A tool works with every stored state that satisfies the schema of stateSlot.',
    why: 'Another version of the extension, or another tool of it, may have written it.',
    cure: 'Narrow the schema, or handle the state.',
    check: ({ calls }) => firstOf(calls, ([fact, state]) => fact.error && about(
      fact, `with the state ${JSON.stringify(state).slice(0, 120)}, ${fact.error.code}: ${fact.error.message}`,
    )),
  },
  {
    id: 'state-migrates', level: 'must', spec: SPEC,
    statement: 'An extension with driftPolicy migrate has a migrateState that accepts some earlier state.',
    why: 'Without it a user loses access to the state after an update.',
    cure: 'Export migrateState, or declare another driftPolicy.',
    check: ({ migrations }) => migrations.length > 0 && migrations.every(({ error }) => error)
      ? `all of ${migrations.length} migrations failed: ${migrations[0]!.error!.message}` : undefined,
  },
  {
    id: 'state-migration-valid', level: 'must', spec: SPEC,
    statement: 'What migrateState returns has the current slotVersion and satisfies the schema of stateSlot.',
    why: 'The host rejects the state otherwise, after every update.',
    cure: 'Fill in what is missing, or throw for a state that cannot be migrated.',
    check: ({ slot, migrations }) => {
      const check = slot && validatorOf(slot.schema)
      return firstOf(migrations, ({ from, result }) => {
        if (result === undefined) return undefined
        const { slotVersion, data = null } = isJsonObject(result) ? result : {}
        const fault = slotVersion === slot?.slotVersion ? check?.(data) : 'it has another slotVersion'
        return fault && `from ${from}: ${JSON.stringify(result).slice(0, 120)}: ${fault}`
      })
    },
  },
]
