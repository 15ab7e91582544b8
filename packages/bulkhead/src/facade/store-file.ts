import { join } from 'node:path'
import { homeFolder } from './home-folder.ts'

/** Where the command line remembers: state, approvals and the audit. */
export const storeFile = (home: string | undefined): string => join(homeFolder(home), 'bulkhead.db')
