import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** Where the command line remembers: state, approvals and the audit. */
export const storeFile = (home: string | undefined): string => join(resolve(home ?? join(homedir(), '.bulkhead')), 'bulkhead.db')
