import type { WallReport } from '@bulkhead/host'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import type { Host } from '../facade/create-host.ts'

/** Never rejects: a list of tools is of use without it. */
export async function wallsHere(host: Pick<Host, 'walls'>): Promise<WallReport> {
  try {
    return await host.walls()
  } catch (error) {
    return { line: `not known, because they could not be tried: ${messageOf(error)}`, walls: [] }
  }
}

/** Of the last trial. */
export const rememberedText = (line: string | undefined): string => line === undefined
  ? 'Walls were not tried yet on this machine: "bulkhead doctor" tries them.'
  : `${wallsText({ line })} (when last tried: "bulkhead doctor" tries them again)`

export const wallsText = ({ line }: Pick<WallReport, 'line'>): string => `Walls around ${visibleText(line)}`
