import type { VariableValues } from '@bulkhead/contract'
import { homeFolder } from '../folders.ts'
import { userFolder } from '../loader-options.ts'

/** What variables in rules stand for in the sessions of a folder. */
export const ruleVariables = (workspace: string, home: string | undefined): VariableValues =>
  ({ 'workspace': [workspace], 'user-data': [userFolder(homeFolder(home))] })
