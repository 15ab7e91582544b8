import { reportTools } from '@bulkhead/bridges/openai'
import type { Session } from '../../../bulkhead/src/index.ts'

export const report = (session: Session): readonly string[] =>
  reportTools(session.tools()).map(({ tool, strict, reason, losses }) =>
    strict ? `${tool}: strict, ${losses.length} rules are only described` : `${tool}: ${reason}`,
  )
