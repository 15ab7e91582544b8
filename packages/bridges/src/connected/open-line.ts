import { isThisMachine } from '@bulkhead/kit/hosts'

/** Why no secret may go to a place, as the end of a sentence: on an open line others would read it. */
export function findSecretFault(address: string, sendsSecrets: boolean): string | undefined {
  const url = new URL(address)
  const { protocol, username, password } = url
  if (username !== '' || password !== '') return 'has a name or a password in its URL; name a variable instead'
  const isOpen = protocol === 'http:' && !isThisMachine(url)
  return isOpen && sendsSecrets ? 'would be sent secrets over http; use https' : undefined
}

/** A URL for people: what stands behind a question mark is often a key. */
export const shownUrl = (url: string): string => url.replace(/[?#].*$/s, '?…')
