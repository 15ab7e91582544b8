export { conform, type ConformanceTarget } from './conform.ts'
export { REQUIREMENTS, type ConformanceResult, type RequirementId } from './requirements.ts'
export { worstArguments } from './worst-arguments.ts'
