import { homedir, userInfo } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'

/** The folder of the global layer. */
export const homeFolder = (home: string | undefined): string => resolve(home ?? join(personFolder(), '.bulkhead'))

/** What belongs to a person is not looked for in the project one stands in, even where HOME is empty or a relative path. */
export function personFolder(): string {
  const named = homedir()
  return isAbsolute(named) ? named : userInfo().homedir
}
