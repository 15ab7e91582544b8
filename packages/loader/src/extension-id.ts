import { basename } from 'node:path'
import { EXTENSION_ID_PATTERN } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'
import type { Located } from './describe/extension.ts'

const asId = (value: unknown): string | null => typeof value === 'string' && EXTENSION_ID_PATTERN.test(value) ? value : null

/** The id that a manifest claims, also one that is wrong in everything else. */
export const idOfManifest = (manifest: unknown): string | null => isJsonObject(manifest) ? asId(manifest['id']) : null

/** Folders are named after their extension as a rule: the best guess while no manifest can be read. */
export const idOfFolder = ({ location, id }: Located): string | null => id ?? asId(basename(location))
