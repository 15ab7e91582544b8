import type { TrustRootReport } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'

/** Trusted authorities and their source. Authorities change, so old material does not know newer ones. */
export interface TrustMaterial {
  readonly source: string
  /** The day it was published, or null if unknown. */
  readonly date: string | null
  readonly json: Json
}

const DAY_MS = 24 * 60 * 60 * 1000

/** In whole days, or null if unknown. */
export const ageInDays = ({ date }: TrustMaterial, now = new Date()): number | null =>
  date === null ? null : Math.max(0, Math.floor((now.getTime() - Date.parse(date)) / DAY_MS))

export function materialInWords(material: TrustMaterial, now?: Date): string {
  const age = ageInDays(material, now)
  return age === null ? material.source : `${material.source} of ${material.date}, ${age} ${age === 1 ? 'day' : 'days'} old`
}

export const reportMaterial = (material: TrustMaterial): TrustRootReport =>
  Object.freeze({ source: material.source, date: material.date, ageDays: ageInDays(material) })
