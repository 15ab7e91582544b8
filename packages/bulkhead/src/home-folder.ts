import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** The folder of the global layer. */
export const homeFolder = (home: string | undefined): string => resolve(home ?? join(homedir(), '.bulkhead'))
