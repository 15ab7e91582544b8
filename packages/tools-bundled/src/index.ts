export type { BundledExtension } from './model/bundled-extension.ts'
export {
  argumentsReaders, bundledExtensions, createBundledExtensions, loadLateCode, type BundledOptions,
} from './bundled-tools.ts'
export { createKitPrompts, type KitPrompts, readGuidance, readKits } from './own-prompts.ts'
export type { Kit } from './prompts/kits.ts'
export {
  composeSections, type Described, type OmittedPrompt, type PromptSection, type PromptSectionId, type PromptSections,
} from './prompts/prompt-sections.ts'
export type { FaultReader } from './prompts/yaml-files.ts'
export { describeTools } from './code-mode/declarations.ts'
export type { Delegate, DelegatedTask } from './task/task.ts'
export type { SearchedTool } from './model/find-tools.ts'
export type { ToolCatalog } from './tool-search/tool-search.ts'
export { readSkillHead, type SkillCatalog } from './skill/skill.ts'
export { SHELF_THRESHOLD, ToolShelf } from './tool-search/tool-search.ts'
