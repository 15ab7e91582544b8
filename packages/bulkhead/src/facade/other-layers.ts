import { join } from 'node:path'
import type { Diagnostic } from '@bulkhead/contract'
import { isAbsent } from '@bulkhead/kit/folders'
import { PROJECT_FOLDER } from '@bulkhead/loader'

/** The folder that hosts without another name for the project layer use. Tools write neither. */
export const otherLayersIn = (folder: string, projectFolder: string): readonly string[] =>
  projectFolder === PROJECT_FOLDER ? [] : [join(folder, PROJECT_FOLDER)]

/** The rules in it do not apply, which should not go unnoticed. */
export const unreadLayers = (layers: readonly string[], projectFolder: string): readonly Diagnostic[] =>
  layers.filter((path) => !isAbsent(path)).map((location) => ({
    severity: 'warning', stage: 'read', code: 'ConfigInvalid', layer: 'project', extensionId: null, location, path: '',
    message: `This folder is not read, because the project layer of this host is in "${projectFolder}".`,
    cure: `Move what should apply to "${projectFolder}".`,
  }))
