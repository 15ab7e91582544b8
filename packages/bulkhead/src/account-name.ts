import { userInfo } from 'node:os'

/** Whose account this process runs in. A system need not have a name for it. */
export function accountName(): string {
  try {
    return userInfo().username
  } catch {
    return 'somebody'
  }
}
