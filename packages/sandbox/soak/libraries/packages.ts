import type { Library } from './library.ts'
import { OFFLINE } from './offline.ts'
import { ONLINE } from './online.ts'

/** Forty packages that tools use, in the order of the table in the guide. */
export const LIBRARIES: readonly Library[] = [...OFFLINE, ...ONLINE].toSorted((one, other) =>
  one.name.localeCompare(other.name))

/** A dependency of exceljs, in a version that every registry has. */
export const OVERRIDES: Readonly<Record<string, string>> = { 'typedarray.prototype.slice': '1.0.5' }
