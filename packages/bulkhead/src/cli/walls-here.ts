import type { StandingWalls } from '@bulkhead/host'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import type { Host } from '../facade/create-host.ts'

/** Never rejects: a list of tools is of use without it. */
export async function wallsHere(host: Pick<Host, 'walls'>): Promise<StandingWalls> {
  try {
    return await host.walls()
  } catch (error) {
    return { line: `not known, because they could not be tried: ${messageOf(error)}`, walls: [] }
  }
}

export const wallsText = ({ line }: StandingWalls): string => `Walls around ${visibleText(line)}`
