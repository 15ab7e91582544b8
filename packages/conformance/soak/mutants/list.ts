import type { Mutant } from './mutant.ts'
import { BRIDGES } from './packages/bridges.ts'
import { BROKER } from './packages/broker.ts'
import { HOST } from './packages/host.ts'
import { KIT } from './packages/kit.ts'
import { SANDBOX } from './packages/sandbox.ts'
import { STORE } from './packages/store.ts'

/** One mutant for each named limit and for each promise of the documentation. */
export const MUTANTS: readonly Mutant[] = [...BRIDGES, ...BROKER, ...HOST, ...KIT, ...SANDBOX, ...STORE]
