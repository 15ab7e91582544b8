export {
  conform, REQUIREMENTS, worstArguments, type ConformanceResult, type ConformanceTarget, type RequirementId,
} from './conform.ts'
