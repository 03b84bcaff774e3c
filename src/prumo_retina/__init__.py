"""The reference application: fundus photographs → grade of diabetic retinopathy → referral.

It is decision support and no diagnosis, and it does not judge macular oedema.
"""
