// What an embedder uses before a host exists. It loads little, so that importing the library stays cheap.
export { COMMAND_SAFETY_PATTERNS, createCommandClassifier } from './policy/command-safety/command-safety.ts'
export { createHeadlessInteractor, createProgrammaticInteractor } from './policy/interaction/interactors.ts'
