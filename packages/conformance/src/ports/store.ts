import { ARCHIVE, AUDIT } from './store-audit.ts'
import type { StoreTarget } from './store-bench.ts'
import { CHANGES } from './store-changes.ts'
import { END } from './store-end.ts'
import { GATE, HOSTS } from './store-hosts.ts'
import { RECORDS, UPDATES } from './store-records.ts'
import { verifyPort, type PortGroups, type PortReport, type VerifyOptions } from './verify.ts'

/** What every store must do, by experiment. Members that a store may leave out are verified if they are there. */
export const STORE_REQUIREMENTS = {
  records: RECORDS, updates: UPDATES, audit: AUDIT, archive: ARCHIVE, hosts: HOSTS, gate: GATE, changes: CHANGES,
  end: END,
} as const satisfies PortGroups<StoreTarget>

/**
 * Verifies a store in a temporary folder. Contract: does not throw for anything the store does. Rejects with
 * ConfigInvalid for an unknown id in the options.
 */
export const verifyStore = (target: StoreTarget, options?: VerifyOptions): Promise<PortReport> =>
  verifyPort('store', STORE_REQUIREMENTS, target, options)
