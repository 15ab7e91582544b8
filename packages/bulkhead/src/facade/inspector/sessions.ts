import { BulkheadError } from '@bulkhead/contract'
import type { InspectedSession, Session, SessionOptions } from '@bulkhead/host'
import { visibleText } from '@bulkhead/kit/text'
import type { Inspectable } from '../inspectable.ts'

/** A session that is open in this process. Throws NotFound. */
export function sessionOf({ core }: Inspectable, id: string): InspectedSession {
  const found = core.inside.sessions().find((session) => session.id === id)
  if (found) return found
  throw new BulkheadError('NotFound', `No session ${visibleText(id)} is open in this process. Choose another one.`)
}

/** Uses that session, or, without an id, a new one that is closed afterwards. Throws NotFound. */
export async function withSession<Result>(
  inside: Inspectable, id: string | undefined, use: (session: Session & Partial<InspectedSession>) => Promise<Result>,
  options: SessionOptions = {},
): Promise<Result> {
  if (id !== undefined) return use(sessionOf(inside, id))
  const session = await inside.core.openSession(options)
  try {
    return await use(session)
  } finally {
    await session.close()
  }
}
