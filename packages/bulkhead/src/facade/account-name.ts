import { userInfo } from 'node:os'

/** Whose account this process runs in. A system need not have a name for it, as in many containers. */
export function accountName(): string {
  try {
    return userInfo().username || 'unknown'
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
